-- moonlap: --phase content
local moonlap = require "moonlap"

moonlap.bench("header", function()
    moonlap.keep(ngx.req.get_headers()["Host"])
end)

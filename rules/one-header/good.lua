-- moonlap: --phase content
local moonlap = require "moonlap"

moonlap.bench("header", function()
    moonlap.keep(ngx.var.http_host)
end)

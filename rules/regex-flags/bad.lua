-- moonlap: --phase content
local moonlap = require "moonlap"

local path = "/api/v1/users/4711/orders"

moonlap.bench("regex", function()
    moonlap.keep(ngx.re.match(path, "^/api/v1/users/([0-9]+)"))
end)

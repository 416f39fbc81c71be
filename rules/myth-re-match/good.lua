-- moonlap: --phase content
local moonlap = require "moonlap"

local path = "/api/v1/users/4711/orders"

moonlap.bench("id", function()
    moonlap.keep(ngx.re.match(path, "^/api/v1/users/([0-9]+)", "jo")[1])
end)

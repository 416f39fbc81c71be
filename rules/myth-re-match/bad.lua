-- moonlap: --phase content
local moonlap = require "moonlap"

local path = "/api/v1/users/4711/orders"

moonlap.bench("id", function()
    moonlap.keep(string.match(path, "^/api/v1/users/(%d+)"))
end)

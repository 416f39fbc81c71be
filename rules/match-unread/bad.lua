-- moonlap: --phase content
local moonlap = require "moonlap"

local path = "/api/v1/users/4711/orders"

moonlap.bench("ask", function()
    if ngx.re.match(path, "^/api/v[0-9]+/users/([0-9]+)", "jo") then
        moonlap.keep(path)
    end
end)

-- moonlap: --phase content
local moonlap = require "moonlap"

local paths, i = {"/api/v1/users/4711/orders", "/favicon.ico", "/api/v2/users/12", "/index"}, 0

moonlap.bench("ask", function()
    i = i % 4 + 1
    if ngx.re.match(paths[i], "^/api/v[0-9]+/users/([0-9]+)", "jo") then
        moonlap.keep(i)
    end
end)

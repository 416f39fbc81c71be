local moonlap = require "moonlap"

local hosts, i = {"www.example.com", "api.example.com", "a.example.com", "example"}, 0

moonlap.bench("find", function()
    i = i % 4 + 1 -- or LuaJIT would search once for all calls
    moonlap.keep(hosts[i]:find("%."))
end)

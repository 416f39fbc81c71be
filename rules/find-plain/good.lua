local moonlap = require "moonlap"

local hosts, i = {"www.example.com", "api.example.com", "a.example.com", "example"}, 0

moonlap.bench("find", function()
    i = i % 4 + 1
    moonlap.keep(hosts[i]:find(".", 1, true))
end)

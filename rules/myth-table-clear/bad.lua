local moonlap = require "moonlap"

local t = {}

moonlap.bench("empty", function()
    for k in pairs(t) do
        t[k] = nil
    end
    t.scheme, t.host, t.port, t.path, t.query = "http", "example.com", 80, "/", ""
    t.user, t.method, t.version, t.body, t.size = "ada", "GET", 1.1, "", 0
    moonlap.keep(t)
end)

local moonlap = require "moonlap"

local clear = require "table.clear"
local t = {}

moonlap.bench("empty", function()
    clear(t)
    t.scheme, t.host, t.port, t.path, t.query = "http", "example.com", 80, "/", ""
    t.user, t.method, t.version, t.body, t.size = "ada", "GET", 1.1, "", 0
    moonlap.keep(t)
end)

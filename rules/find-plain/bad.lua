local moonlap = require "moonlap"

local host = "www.example.com"

moonlap.bench("find", function()
    moonlap.keep(host:find("%."))
end)

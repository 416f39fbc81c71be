local moonlap = require "moonlap"

local ids, i = {"4711", "4712", "4713", "4714"}, 0

moonlap.bench("join", function()
    i = i % 4 + 1 -- or LuaJIT would join once for all calls
    moonlap.keep(table.concat({"user", ":", ids[i], ":", "name"}))
end)

local moonlap = require "moonlap"

local a, b, c = "user", "4711", "name"

moonlap.bench("join", function()
    moonlap.keep(table.concat({a, ":", b, ":", c}))
end)

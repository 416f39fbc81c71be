local moonlap = require "moonlap"

local function sum(a, b, c)
    return a + b + c
end
local t = {1, 2, 3}

moonlap.bench("unpack", function()
    moonlap.keep(sum(t[1], t[2], t[3]))
end)

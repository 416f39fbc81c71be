local moonlap = require "moonlap"

local function sum(a, b, c)
    return a + b + c
end
local t = {1, 2, 3}

moonlap.bench("unpack", function()
    moonlap.keep(sum(unpack(t)))
end)

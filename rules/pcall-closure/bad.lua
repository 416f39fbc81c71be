local moonlap = require "moonlap"

local function double(x)
    return 2 * x
end
local x = 21

moonlap.bench("pcall", function()
    moonlap.keep(pcall(function() return double(x) end))
end)

local moonlap = require "moonlap"

local byte = string.byte
local text = "the quick brown fox"

moonlap.bench("byte", function()
    local sum = 0
    for i = 1, #text do
        sum = sum + byte(text, i)
    end
    moonlap.keep(sum)
end)

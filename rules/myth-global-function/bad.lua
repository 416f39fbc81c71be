local moonlap = require "moonlap"

local text = "the quick brown fox"

moonlap.bench("byte", function()
    local sum = 0
    for i = 1, #text do
        sum = sum + string.byte(text, i)
    end
    moonlap.keep(sum)
end)

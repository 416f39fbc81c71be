local moonlap = require "moonlap"

local function apply(f, x)
    return f(x)
end

moonlap.bench("loop", function()
    local function increment(x) return x + 1 end
    local sum = 0
    for i = 1, 10 do
        sum = sum + apply(increment, i)
    end
    moonlap.keep(sum)
end)

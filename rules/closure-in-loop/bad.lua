local moonlap = require "moonlap"

local function apply(f, x)
    return f(x)
end

moonlap.bench("loop", function()
    local sum = 0
    for i = 1, 10 do
        sum = sum + apply(function(x) return x + 1 end, i)
    end
    moonlap.keep(sum)
end)

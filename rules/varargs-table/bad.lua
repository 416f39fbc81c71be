local moonlap = require "moonlap"

local function sum(...)
    local t = {...}
    local s = 0
    for i = 1, #t do
        s = s + t[i]
    end
    return s
end

moonlap.bench("sum", function(_, i)
    return sum(i, 2, 3, 4, 5, 6, 7, 8)
end)

local moonlap = require "moonlap"

local t = {}
for i = 1, 100 do
    t[i] = i
end

moonlap.bench("limit", function()
    local sum, n = 0, #t
    for i = 1, n do
        sum = sum + t[i]
    end
    moonlap.keep(sum)
end)

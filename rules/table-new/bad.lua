local moonlap = require "moonlap"

moonlap.bench("fill", function()
    local t = {}
    for i = 1, 100 do
        t[i] = i
    end
    moonlap.keep(t)
end)

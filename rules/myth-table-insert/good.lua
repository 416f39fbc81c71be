local moonlap = require "moonlap"

moonlap.bench("append", function()
    local t = {}
    for i = 1, 10 do
        t[#t + 1] = i
    end
    moonlap.keep(t)
end)

local moonlap = require "moonlap"

local new = require "table.new"

moonlap.bench("fill", function()
    local t = new(100, 0)
    for i = 1, 100 do
        t[i] = i
    end
    moonlap.keep(t)
end)

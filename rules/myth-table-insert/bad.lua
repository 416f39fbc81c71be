local moonlap = require "moonlap"

local insert = table.insert

moonlap.bench("append", function()
    local t = {}
    for i = 1, 10 do
        insert(t, i)
    end
    moonlap.keep(t)
end)

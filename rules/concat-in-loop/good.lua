local moonlap = require "moonlap"

local concat = table.concat
local parts = {}
for i = 1, 100 do
    parts[i] = "part " .. i
end

moonlap.bench("join", function()
    local collected = {}
    for i = 1, #parts do
        collected[i] = parts[i]
    end
    moonlap.keep(concat(collected))
end)

local moonlap = require "moonlap"

local parts = {}
for i = 1, 100 do
    parts[i] = "part " .. i
end

moonlap.bench("join", function()
    local s = ""
    for i = 1, #parts do
        s = s .. parts[i]
    end
    moonlap.keep(s)
end)

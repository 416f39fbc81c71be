local moonlap = require "moonlap"

local list = {}
for i = 1, 100 do
    list[i] = i
end

moonlap.bench("queue", function()
    table.insert(list, 1, 0)
    list[#list] = nil
end)

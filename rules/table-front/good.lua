local moonlap = require "moonlap"

local list, first = {}, 1
for i = 1, 100 do
    list[i] = i
end

moonlap.bench("queue", function()
    local x = list[first]
    list[first] = nil
    list[first + 100] = x
    first = first + 1
    if first > 1e6 then
        list, first = {}, 1
        for i = 1, 100 do
            list[i] = i
        end
    end
end)

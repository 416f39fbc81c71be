local moonlap = require "moonlap"

local find = string.find
local sub = string.sub
local text = "alpha,beta,gamma,delta"

moonlap.bench("split", function()
    local count, from = 0, 1
    while true do
        local at = find(text, ",", from, true)
        local word = sub(text, from, at and at - 1 or -1)
        count = count + #word
        if not at then
            break
        end
        from = at + 1
    end
    moonlap.keep(count)
end)

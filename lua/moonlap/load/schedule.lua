--- Which side has which slice: balanced blocks, so that what drifts hits all sides alike.
-- @module moonlap.load.schedule
local random = require "moonlap.bench.random"

local _M = {}


--- A function that returns the sides of the next block: all in random order, then the same
-- reversed.
-- @tparam int sides how many
-- @tparam int seed
function _M.blocks(sides, seed)
    local draw = random.new(seed)
    for _ = 1, 10 do -- small seeds begin with small draws
        draw()
    end
    return function()
        local order = {}
        for i = 1, sides do
            order[i] = i - 1
        end
        for i = sides, 2, -1 do
            local j = 1 + math.floor(draw() * i)
            order[i], order[j] = order[j], order[i]
        end
        for i = sides, 1, -1 do
            order[#order + 1] = order[i]
        end
        return order
    end
end


return _M

-- Two cases on LuaJIT: one whose processes settle on two levels, for the JIT records a rare
-- branch first in one of six (LuaJIT issue 218), and one that has a single level.
local moonlap = require "moonlap"

local random = math.random

moonlap.bench {
    name = "two levels",
    setup = function() return { hits = 0, clicks = 0 } end,
    run = function(gun)
        if random(6) == 1 then
            gun.hits = gun.hits + 1
        else
            gun.clicks = gun.clicks + 1
        end
    end,
}

moonlap.bench {
    name = "one level",
    run = function(_, i)
        local x = i
        for k = 1, 100 do
            x = x + k * k % 7
        end
        return x
    end,
}

-- A case with two speeds. The JIT compiles the path that is taken when the loop becomes
-- hot; one process in six finds the rare branch there, and keeps a slower machine code for
-- the rest of its life. A single process, or a fixed seed, shows one of the two figures.
-- After LuaJIT issue 218, "side-trace Russian roulette".
local moonlap = require "moonlap"

local random = math.random

moonlap.bench {
    name = "roulette",
    setup = function()
        return {hits = 0, clicks = 0}
    end,
    run = function(gun)
        if random(6) == 1 then
            gun.hits = gun.hits + 1
        else
            gun.clicks = gun.clicks + 1
        end
    end,
}

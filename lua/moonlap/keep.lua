--- Keeps a value from being optimised away.
-- @module moonlap.keep
local band = bit.band

-- Slots taken in turn: of two stores to one slot the JIT would drop the first.
local slots = {false, false, false, false, false, false, false, false} -- luacheck: ignore 241
local turn = 0


--- Uses a value, so that the JIT must compute and allocate it. About 1 ns.
-- What `run` returns is kept without this.
-- @function keep
-- @param value anything
-- @return the same value
return function(value)
    turn = band(turn + 1, 7)
    slots[turn + 1] = value
    return value
end

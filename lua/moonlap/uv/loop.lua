--- What the loop's phases and the handles in Lua share: the clock and the references.
-- @module moonlap.uv.loop

local C = require "moonlap.uv.ffi"
local queue = require "moonlap.uv.queue"

local _M = {}

local q = queue.q

--- How many active handles that live in Lua keep the loop alive.
_M.refs = 0

-- The clock is read at most once a turn, as libuv does, and not at all in a turn where nobody asks.
local stale = false

--- The turn's time.
-- @treturn number ms, from an arbitrary start
function _M.now()
    if stale then
        stale = false
        C.uvshim_update_time(q)
    end
    return q.now
end

--- A new turn begins: `now` reads the clock again when it is asked.
function _M.new_turn()
    stale = true
end

--- The poll has read the clock.
function _M.polled()
    stale = false
end

--- Counts a reference, or takes it back.
-- @tparam number by 1 or -1
function _M.add_ref(by)
    _M.refs = _M.refs + by
end

return _M

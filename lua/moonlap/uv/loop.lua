--- What the loop's phases and the handles in Lua share: the clock and the references.
-- @module moonlap.uv.loop

local C = require "moonlap.uv.ffi"
local queue = require "moonlap.uv.queue"

local _M = {}

local q = queue.q

--- How many active handles that live in Lua keep the loop alive.
_M.refs = 0

--- What waits to be done (`moonlap.uv.queue`).
_M.work = queue.work

--- The clock is read at most once a turn, as libuv does, and not at all in a turn where nobody
-- asks: a turn begins with this set.
_M.stale = false

local time = q.now
local update_time = C.uvshim_update_time

--- The turn's time.
-- @treturn number ms, from an arbitrary start
function _M.now()
    if _M.stale then
        _M.stale = false
        time = update_time(q)
    end
    return time
end

--- The clock was read.
-- @tparam number now
function _M.polled(now)
    _M.stale, time = false, now
end

--- `uv.stop` was called.
_M.stopped = false

--- Something was begun that the kernel may have an event for at once.
function _M.stir()
    q.quiet = 0
end

--- Counts a reference, or takes it back.
-- @tparam number by 1 or -1
function _M.add_ref(by)
    _M.refs = _M.refs + by
end

return _M

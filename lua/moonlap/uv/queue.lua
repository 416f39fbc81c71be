--- The event vector: libuv's completions, taken out and handed to whoever waits for them.
--
-- uv_run fills two vectors through the shim. `queue.drain` walks the first one after the poll.
-- Each kind of record has one function, set by the module that starts such things. It returns what
-- is to be called, and with what; nothing when nobody waits for it any more:
--
--     queue.on[queue.KIND.poll] = function(event) … return h.callback, err, events end
--
-- A record is dispatched in the turn in which libuv made it, and a handle's last one is CLOSED;
-- so an id is free again when that is dispatched, and no id ever names something else. A `drain`
-- that an error in a callback has left goes on behind that record when it is called again.
-- @module moonlap.uv.queue

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local dispatch = require "moonlap.uv.dispatch"
local errors = require "moonlap.uv.errors"

local _M = {}

-- Small enough for the cache, large enough for several reads of 64 KiB each.
local SLAB = 512 * 1024

--- The kinds of records, as in uvshim.h.
_M.KIND = {
    req = 1, read = 2, connection = 3, closed = 4, poll = 5, signal = 6, async = 7, fs_event = 8,
    fs_poll = 9, recv = 10, exit = 11,
}

local function open()
    local status = ffi.new "int[1]"
    local queue = C.uvshim_open(SLAB, status)
    if queue == nil then
        error("moonlap.uv cannot open a loop: " .. errors.describe(status[0]), 0)
    end
    return queue
end

local q = open()

--- The queue in C, one for each copy of the library, so one for each Lua state.
_M.q = q

--- The loop that it belongs to.
_M.loop = q.loop

-- When the state ends, C closes and frees everything without calling Lua. It is a userdata
-- because those are finalised before the library is unloaded, and cdata after that.
local guard = newproxy(true)
getmetatable(guard).__gc = function()
    C.uvshim_close(q)
end
_M.guard = guard

local declared = {}

--- A callback of the shim as the function pointer that libuv takes.
-- @tparam string name as in `uvshim_on_NAME`
-- @tparam[opt] string kind libuv's name for the type; `uv_NAME_cb` when not given
-- @return cdata; it is a C function, no FFI callback is made
function _M.callback(name, kind)
    if not declared[name] then
        ffi.cdef(("void uvshim_on_%s(void);"):format(name))
        declared[name] = true
    end
    return ffi.cast(kind or ("uv_" .. name .. "_cb"), C["uvshim_on_" .. name])
end

local on = {}

--- What to do with a record, by kind: functions of the event.
_M.on = on

local site = dispatch.site()

--- Counts a callback that records will call.
function _M.learn(callback)
    dispatch.learn(site, callback)
end

local call = dispatch.call

local events = q.events
local position = 0

--- Are there records to dispatch?
-- @treturn boolean
function _M.waiting()
    return events.count > 0
end

-- What the next record calls.
local function next_call()
    local event = events.at[position]
    position = position + 1
    return on[event.kind](event)
end

local function call_inlined(callback, ...)
    if callback then
        callback(...)
    end
end

local function drain_traced(count)
    while position < count do
        call_inlined(next_call())
    end
end

local function drain_mixed(count)
    while position < count do
        call(next_call())
    end
end
jit.off(drain_mixed)

--- Dispatches all records in the order in which libuv made them.
function _M.drain()
    if site.mixed then
        drain_mixed(events.count)
    else
        drain_traced(events.count)
    end
    position = 0
    C.uvshim_drained(q)
end

local closing = q.closing
local closing_position = 0

--- Is there another record of libuv's closing phase?
-- @treturn boolean
function _M.next_closing()
    return closing_position < closing.count
end

--- Dispatches the next record of libuv's closing phase: a cancelled request, or CLOSED.
function _M.dispatch_closing()
    local event = closing.at[closing_position]
    closing_position = closing_position + 1
    call(on[event.kind](event))
end

--- Dispatches what is left of them, and forgets them.
function _M.drain_closing()
    while closing_position < closing.count do
        _M.dispatch_closing()
    end
    closing_position, closing.count = 0, 0
end

return _M

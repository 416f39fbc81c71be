--- The event vector: libuv's completions, taken out and handed to whoever waits for them.
--
-- uv_run fills two vectors through the shim. `queue.drain` walks the first one after the poll.
-- Each kind of record has one function, set by the module that starts such things. It returns what
-- is to be called, and with what; nothing when nobody waits for it any more:
--
--     queue.on[queue.KIND.poll] = function(id, result, extra, data) … return h.callback, err end
--
-- `data` is a function without arguments that returns the record's pointer. Such a function, and
-- `read` below, calls nothing of the user's and is compiled by itself; what calls them and then the
-- user's callback is never compiled, so no callback can spoil it, nor is it in a callback's trace.
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
    fs_poll = 9, recv = 10, exit = 11, work = 12,
    recv_none = 13,
}

local CLOSED = _M.KIND.closed

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
    return (ffi.cast(kind or ("uv_" .. name .. "_cb"), C["uvshim_on_" .. name]))
end
local on = {}

--- What to do with a record, by kind.
_M.on = on

--- What waits to be done. Fields and no functions: to ask a function of its own trace costs the
-- turn, which is not compiled, ten times what it costs to read a field.
-- `records` of libuv to dispatch; `writes`: handles whose writes have ended; `stashed`: streams
-- that read again; `closing`: handles to finish: numbers. `unheard`: a write has ended that has no
-- callback: to libuv its end is an event too, so the loop is alive and does not wait.
_M.work = { records = 0, writes = 0, stashed = 0, closing = 0, unheard = false }

local work = _M.work
local call = dispatch.call

local events, closing = q.events, q.closing

-- -- leaves: compiled, and called by what is not ------------------------------------------------

local function read(vector, at)
    local event = vector.at[at]
    return event.kind, event.id, event.result, event.extra
end

local function forget_closing()
    closing.count = 0
end

local at_event, at_closing = 0, 0 -- what is dispatched already

local function event_data()
    return events.at[at_event - 1].data
end

local function closing_data()
    return closing.at[at_closing - 1].data
end

-- -- dispatch -----------------------------------------------------------------------------------

local n_events, n_closing = 0, 0

--- Before a poll. A leaf.
function _M.forget()
    if work.records == 0 then
        events.count = 0 -- those are dispatched
    end
end

--- After it: the shim has filled the vectors. A leaf.
function _M.filled()
    n_events, n_closing = events.count, closing.count
    work.records = n_events
end

local function call_one(kind, id, result, extra)
    call(on[kind](id, result, extra, event_data))
end

--- Dispatches all records in the order in which libuv made them.
function _M.drain()
    while at_event < n_events do
        at_event = at_event + 1
        call_one(read(events, at_event - 1))
    end
    at_event, n_events, work.records = 0, 0, 0
end

--- Is there another record of libuv's closing phase?
-- @treturn boolean
function _M.next_closing()
    return at_closing < n_closing
end

--- Takes the next record of libuv's closing phase if it is the CLOSED of a handle.
-- @tparam number id of the handle
function _M.mark_closed(id)
    if at_closing < n_closing then
        local kind, of, result, extra = read(closing, at_closing)
        if kind == CLOSED and of == id then
            at_closing = at_closing + 1
            on[CLOSED](of, result, extra, closing_data)
        end
    end
end

local function call_closing(kind, id, result, extra)
    call(on[kind](id, result, extra, closing_data))
end

--- Dispatches the next record of libuv's closing phase: a cancelled request, or CLOSED.
function _M.dispatch_closing()
    at_closing = at_closing + 1
    call_closing(read(closing, at_closing - 1))
end

--- Dispatches what is left of them, and forgets them.
function _M.drain_closing()
    while at_closing < n_closing do
        _M.dispatch_closing()
    end
    if n_closing > 0 then
        at_closing, n_closing = 0, 0
        forget_closing()
    end
end

for _, fn in ipairs {
    call_one, _M.drain, call_closing, _M.dispatch_closing, _M.drain_closing,
} do
    jit.off(fn)
end

return _M

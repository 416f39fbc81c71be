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

local events, closing = q.events, q.closing

-- What touches C stands in functions of its own: they are compiled where their caller is not, and
-- the interpreter takes a hundred times longer for that.
local function is_left(vector)
    return vector.done < vector.count
end

-- What the next record calls.
local function next_call(vector)
    local event = vector.at[vector.done]
    vector.done = vector.done + 1
    return on[event.kind](event)
end

local function forget(vector)
    vector.count, vector.done = 0, 0
end

--- Are there records to dispatch?
-- @treturn boolean
function _M.waiting()
    return events.count > 0
end

local function call_each(vector)
    while is_left(vector) do
        call(next_call(vector))
    end
end
jit.off(call_each)

local function call_inlined(callback, ...)
    if callback then
        callback(...)
    end
end

-- Dispatches the records up to the next one of another kind.
local function run(kind, handler, vector, call_back)
    while vector.done < vector.count do
        local event = vector.at[vector.done]
        if event.kind ~= kind then
            return
        end
        vector.done = vector.done + 1
        call_back(handler(event))
    end
end

-- Each kind has a copy of that loop, so that the kinds do not share traces.
local runs = {}
for _, kind in pairs(_M.KIND) do
    runs[kind] = dispatch.copy(run)
end

local function next_kind()
    return events.at[events.done].kind
end

local function drain_traced()
    while is_left(events) do
        local kind = next_kind()
        runs[kind](kind, on[kind], events, call_inlined)
    end
end

--- Dispatches all records in the order in which libuv made them.
function _M.drain()
    if site.mixed then
        call_each(events)
    else
        drain_traced()
    end
    forget(events)
end

--- Is there another record of libuv's closing phase?
-- @treturn boolean
function _M.next_closing()
    return is_left(closing)
end

--- Dispatches the next record of libuv's closing phase if it is the CLOSED of a handle.
-- @tparam number id of the handle
function _M.mark_closed(id)
    if is_left(closing) then
        local event = closing.at[closing.done]
        if event.kind == CLOSED and event.id == id then
            closing.done = closing.done + 1
            on[CLOSED](event)
        end
    end
end

--- Dispatches the next record of libuv's closing phase: a cancelled request, or CLOSED.
function _M.dispatch_closing()
    call(next_call(closing))
end

--- Dispatches what is left of them, and forgets them.
function _M.drain_closing()
    call_each(closing)
    forget(closing)
end

return _M

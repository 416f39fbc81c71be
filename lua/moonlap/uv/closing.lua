--- The closing of handles: `uv.close`, libuv's closing phase, the last callback.
-- @module moonlap.uv.closing

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local dispatch = require "moonlap.uv.dispatch"
local handle = require "moonlap.uv.handle"
local queue = require "moonlap.uv.queue"

local _M = {}

local q = queue.q
local handle_ptr = ffi.typeof "uv_handle_t *"
local on_close = queue.callback "close"

-- Handles to finish, last closed first, as libuv does; then those that a closing phase is at.
local closing, n_closing = {}, 0
local finishing, at = {}, 0
-- The same handles' places in the list of live ones, where that is all there is to finish: for
-- handles that live in Lua and have no close callback. Of many timers that close, their records
-- need not be fetched into the cache once more.
local places, finishing_places = {}, {}
local waits_for_c = false

--- Is a handle waiting for the closing phase?
function _M.is_due()
    return n_closing > 0 or at > 0
end

local function close_later(h)
    n_closing = n_closing + 1
    closing[n_closing] = h
    places[n_closing] = h.class.is_active and not h.close_callback and h.place
end

function handle.moved()
    for i = 1, n_closing do
        places[i] = places[i] and closing[i].place
    end
    for i = 1, at do
        finishing_places[i] = finishing_places[i] and finishing[i].place
    end
end

local function finish_plain()
    while at > 0 do
        local place = finishing_places[at]
        if not place then
            return
        end
        finishing[at] = nil
        at = at - 1
        handle.forget_place(place)
    end
end

--- Closes a handle.
-- @tparam table h not closing yet
-- @param callback what to call then, or false
-- @tparam[opt=false] boolean is_closed libuv's handle is being closed already, with `on_close`
function _M.close(h, callback, is_closed)
    local stop = h.class.stop
    if stop then
        stop(h)
    end
    h.closing, h.close_callback = true, callback
    if h.ptr then
        if not is_closed then
            C.uv_close(h.ptr, on_close)
        end
        waits_for_c = true
    end
    close_later(h)
end

--- The callback that every closed handle must have.
_M.on_close = on_close

--- Closes a handle that the shim has made and Lua has not adopted.
-- @tparam cdata memory
function _M.close_memory(memory)
    C.uv_close(ffi.cast(handle_ptr, memory), on_close)
end

-- libuv is done with a handle's memory: dispatch of CLOSED.
local function closed_in_c(event)
    local h = handle.by_id[event.id]
    if not h then -- a connection that nobody accepted
        C.uvshim_free(q, event.data)
        return
    end
    h.closed_in_c = true
    if h.is_late then
        close_later(h)
    end
end

-- On its own, because `run` is not compiled, and the interpreter calls C slowly.
local function poll()
    C.uvshim_poll(q, 0)
end

--- The closing phase: every handle that was closed before it, the last one first.
function _M.run()
    if at == 0 then
        if n_closing == 0 then
            return queue.drain_closing()
        end
        closing, finishing = finishing, closing
        places, finishing_places = finishing_places, places
        at, n_closing = n_closing, 0
        if waits_for_c then
            -- libuv's own closing phase: what it cancels and closes arrives in the second vector.
            waits_for_c = false
            poll()
        end
    end
    while true do
        finish_plain()
        local h = finishing[at]
        if not h then
            break
        end
        if h.class.last_calls then
            h.class.last_calls(h)
        end
        while h.ptr and not h.closed_in_c and queue.next_closing() do
            queue.dispatch_closing()
        end
        if h.class.last_calls then
            h.class.last_calls(h) -- those that stood behind a request which was cancelled
        end
        finishing[at] = nil
        at = at - 1
        if h.ptr and not h.closed_in_c then
            h.is_late = true -- libuv waits for something of its own, such as a stat of fs_poll
        else
            dispatch.call(handle.finish(h))
        end
    end
    handle.tidy()
    queue.drain_closing()
end

jit.off(_M.run)

queue.on[queue.KIND.closed] = closed_in_c

return _M

--- The closing of handles: `uv.close`, libuv's closing phase, the last callback.
-- @module moonlap.uv.closing

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local dispatch = require "moonlap.uv.dispatch"
local handle = require "moonlap.uv.handle"
local queue = require "moonlap.uv.queue"
local work = require("moonlap.uv.loop").work
local timer_records = require "moonlap.uv.timer_records"

local _M = {}

local q, type = queue.q, type
local handle_ptr = ffi.typeof "uv_handle_t *"
local on_close = queue.callback "close"

-- What is to finish, last closed first, as libuv does; then what a closing phase is at: a handle's
-- record, or the place of a timer's.
local closing, n_closing = {}, 0
local finishing, at = {}, 0
local waits_for_c = false

local function close_later(h)
    local n = n_closing + 1
    n_closing = n -- before the list gets longer: see moonlap.uv.timer_records
    closing[n] = h
    work.closing = work.closing + 1
end

--- Closes a timer that is stopped.
-- @tparam number place of its record
_M.close_timer = close_later

--- Closes a handle.
-- @tparam table h not closing yet
-- @param callback what to call then, or false
-- @tparam[opt=false] boolean is_closed libuv's handle is being closed already, with `on_close`
function _M.close(h, callback, is_closed)
    local stop = h.class.stop
    if stop then
        stop(h)
    end
    h.closing = true
    if callback then
        h.close_callback = callback
    end
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
local function closed_in_c(id, _, _, data)
    local h = handle.by_id[id]
    if not h then -- a connection that nobody accepted
        C.uvshim_free(q, data())
        return
    end
    h.closed_in_c = true
    if h.is_late then
        close_later(h)
    end
end

-- A leaf, because `run` is not compiled, and the interpreter calls C slowly.
local function poll()
    queue.forget()
    C.uvshim_poll(q, 0)
    queue.filled()
end

-- What is left to do for the handle at the end of the list that nothing stands in the way of: no
-- callback of an earlier write, no request to cancel. Compiled, other than what calls callbacks.
-- Returns false when there is none, or true and the close callback.
local function finish_plain()
    local h = finishing[at]
    if type(h) ~= "number" then
        local done = h and h.done
        if not h or (done and done.n > 0) then
            return false
        end
        if h.ptr and not h.closed_in_c then
            queue.mark_closed(h.id)
            if not h.closed_in_c then
                return false
            end
        end
    end
    finishing[at] = nil
    at = at - 1
    work.closing = work.closing - 1
    if type(h) == "number" then
        return true, timer_records.release(h)
    end
    return true, handle.finish(h)
end

-- Finishes handles up to the first one with a close callback, which it returns, or that is not
-- plain.
local function finish_some()
    while true do
        local is_plain, callback = finish_plain()
        if not is_plain then
            return nil
        elseif callback then
            return callback
        end
    end
end

jit.off(finish_some)

-- From this many on, the same is compiled.
local MANY = 128

local function finish_many(n)
    if n == 0 then
        return nil
    end
    while true do
        local is_plain, callback = finish_plain()
        if not is_plain then
            return nil
        elseif callback then
            return callback
        end
    end
end

dispatch.compile_beginning(finish_many, 0)

local function finish_first()
    local h = finishing[at]
    local last_calls = h.class.last_calls
    if last_calls then
        last_calls(h)
    end
    while h.ptr and not h.closed_in_c and queue.next_closing() do
        queue.dispatch_closing()
    end
    if last_calls then
        last_calls(h) -- those that stood behind a request which was cancelled
    end
    finishing[at] = nil
    at = at - 1
    work.closing = work.closing - 1
    if h.ptr and not h.closed_in_c then
        h.is_late = true -- libuv waits for something of its own, such as a stat of fs_poll
    else
        dispatch.call(handle.finish(h))
    end
end

jit.off(finish_first)

--- The closing phase: every handle that was closed before it, the last one first.
function _M.run()
    if at == 0 then
        if n_closing == 0 then
            return queue.drain_closing()
        end
        closing, finishing = finishing, closing
        at, n_closing = n_closing, 0
        if waits_for_c then
            -- libuv's own closing phase: what it cancels and closes arrives in the second vector.
            waits_for_c = false
            poll()
        end
    end
    while at > 0 do
        local callback
        if at >= MANY then
            callback = finish_many(at)
        else
            callback = finish_some()
        end
        if callback then
            dispatch.call(callback)
        elseif at > 0 then
            finish_first()
        end
    end
    queue.drain_closing()
end

jit.off(_M.run)

queue.on[queue.KIND.closed] = closed_in_c

return _M

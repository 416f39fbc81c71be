--- async: wakes the loop, in luv also from another thread.
--
-- Not there yet: sending from another Lua state, which takes threads.
-- @module moonlap.uv.async

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local queue = require "moonlap.uv.queue"

local _M = {}

ffi.cdef [[
int uv_async_init(uv_loop_t *, uv_async_t *, uv_async_cb);
int uv_async_send(uv_async_t *);
]]

-- luv's limit.
local MOST_ARGUMENTS = 9

local async_ptr = ffi.typeof "uv_async_t *"
local on_async = queue.callback "async"

local methods = {}
local class = handle.class("async", methods)

queue.on[queue.KIND.async] = function(event)
    local h = handle.by_id[event.id]
    if not h.closing then
        h.callback(unpack(h.arguments, 1, h.arguments.n))
    end
end

local api = {}
_M.api = api

--- A handle that calls back after `send`; several sends before may make one call.
-- @tparam function callback of what was sent last
-- @treturn userdata; or nil, message and name of the error
function api.new_async(callback)
    if type(callback) ~= "function" then
        check.type_error(1, "function", callback)
    end
    local h = { callback = callback, arguments = { n = 0 } }
    local userdata = handle.new(class, h)
    local memory = ffi.cast(async_ptr, handle.memory(h))
    local status = C.uv_async_init(queue.loop, memory, on_async)
    if status < 0 then
        return handle.abandon(h, status)
    end
    return userdata
end

local SCALARS = {
    ["nil"] = true, boolean = true, number = true, string = true, userdata = true,
}

--- Wakes the loop.
-- @tparam userdata async
-- @param ... at most nine values for the callback: nil, boolean, number, string or userdata
-- @treturn number 0, or nil, message and name of the error
function api.async_send(userdata, ...)
    local h = handle.check(userdata, class)
    local n = math.min(select("#", ...), MOST_ARGUMENTS)
    for i = 1, n do
        local kind = type((select(i, ...)))
        if not SCALARS[kind] then
            check.misuse(("Error: thread arg not support type '%s' at %d"):format(kind, i))
        end
    end
    if h.closed then
        return errors.fail(errors.api.errno.EINVAL)
    end
    h.arguments = { n = n, ... }
    return errors.result(C.uv_async_send(ffi.cast(async_ptr, h.ptr)))
end

methods.send = api.async_send

return _M

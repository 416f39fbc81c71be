--- Signals.
-- @module moonlap.uv.signal

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local queue = require "moonlap.uv.queue"
local words = require "moonlap.uv.words"

local _M = {}

ffi.cdef [[
int uv_signal_init(uv_loop_t *, uv_signal_t *);
int uv_signal_start(uv_signal_t *, uv_signal_cb, int signum);
int uv_signal_start_oneshot(uv_signal_t *, uv_signal_cb, int signum);
int uv_signal_stop(uv_signal_t *);
]]

local EINVAL = errors.api.errno.EINVAL
local signal_ptr = ffi.typeof "uv_signal_t *"
local on_signal = queue.callback "signal"

-- libuv makes the pipe for all signals of a loop with the first one, which alone may fail: so that
-- one is initialised at once.
local has_pipe = false

local function init(h)
    local memory = handle.memory(h, not has_pipe)
    local status = C.uv_signal_init(queue.loop, ffi.cast(signal_ptr, memory))
    if status < 0 then
        return nil, status
    end
    has_pipe = true
    return h.ptr
end

local methods = {}
local class = handle.class("signal", methods, { init = init })

-- A callback before this one may have stopped the handle or started it for another signal.
queue.on[queue.KIND.signal] = function(id, number)
    local h = handle.by_id[id]
    if h.closing or h.number ~= number then
        return
    end
    if h.oneshot then
        h.number = 0
    end
    return h.callback, words.signal_word[number]
end

local new_record = handle.c_record_maker "number = 0, oneshot = false"

local api = {}
_M.api = api

--- A handle for a signal.
-- @treturn userdata; or nil, message and name of the error
function api.new_signal()
    local h = new_record()
    local userdata = handle.new(class, h)
    if not has_pipe then
        local ptr, status = init(h)
        if not ptr then
            return handle.abandon(h, status)
        end
    end
    return userdata
end

local function start(call, oneshot, ...)
    local userdata, signal, callback = ...
    local h = handle.check(userdata, class)
    local number = tonumber(signal)
    if not number then
        if type(signal) ~= "string" then
            check.argument_error(2, "Missing Signal name")
        end
        number = words.signal_number[signal]
        if not number then
            check.argument_error(2, "Invalid Signal name")
        end
    end
    check.opt_callback(3, ...)
    if h.closing then
        return errors.fail(EINVAL)
    end
    h.callback = callback or h.callback
    local status = call(ffi.cast(signal_ptr, handle.pointer(h)), on_signal, number)
    if status < 0 then
        return errors.fail(status)
    end
    h.number, h.oneshot = number, oneshot
    return status
end

--- Starts to wait for a signal.
-- @tparam userdata signal
-- @tparam number|string signum such as `"sigint"`
-- @tparam[opt] function callback of the signal's name
-- @treturn number 0, or nil, message and name of the error
function api.signal_start(...)
    local status, err, name = start(C.uv_signal_start, false, ...)
    return status, err, name
end

--- The same for one signal only.
-- @tparam userdata signal
-- @tparam number|string signum
-- @tparam[opt] function callback of the signal's name
-- @treturn number 0, or nil, message and name of the error
function api.signal_start_oneshot(...)
    local status, err, name = start(C.uv_signal_start_oneshot, true, ...)
    return status, err, name
end

--- Stops waiting.
-- @tparam userdata signal
-- @treturn number 0
function api.signal_stop(userdata)
    local h = handle.check(userdata, class)
    h.number = 0
    if not h.ptr then -- closed, or never started
        return 0
    end
    return errors.result(C.uv_signal_stop(ffi.cast(signal_ptr, h.ptr)))
end

methods.start, methods.stop = api.signal_start, api.signal_stop
methods.start_oneshot = api.signal_start_oneshot

return _M

--- fs_poll: asks for a file's stat again and again, and tells when it has changed.
-- @module moonlap.uv.fs_poll

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local fs_stat = require "moonlap.uv.fs_stat"
local handle = require "moonlap.uv.handle"
local loop = require "moonlap.uv.loop"
local queue = require "moonlap.uv.queue"

local _M = {}

ffi.cdef [[
int uv_fs_poll_init(uv_loop_t *, uv_fs_poll_t *);
int uv_fs_poll_start(uv_fs_poll_t *, uv_fs_poll_cb, const char *path, unsigned int interval);
int uv_fs_poll_stop(uv_fs_poll_t *);
int uv_fs_poll_getpath(uv_fs_poll_t *, char *, size_t *);
]]

local PATH_SIZE = 2 * 4096
local EINVAL = errors.api.errno.EINVAL

-- uv_stat_t: twelve and four times two 64-bit fields, which libuv 1 cannot change.
local SIZE_OF_STAT = 160

local char_ptr, void_ptr = ffi.typeof "char *", ffi.typeof "void *"
local fs_poll_ptr = ffi.typeof "uv_fs_poll_t *"
local on_fs_poll = queue.callback "fs_poll"

local methods = {}
local class = handle.class("fs_poll", methods)

queue.on[queue.KIND.fs_poll] = function(event)
    local h = handle.by_id[event.id]
    if h.closing or not h.started then
        return
    end
    local before, after
    if event.data ~= nil then
        before = fs_stat.stat_table(event.data)
        after = fs_stat.stat_table(
            ffi.cast(void_ptr, ffi.cast(char_ptr, event.data) + SIZE_OF_STAT))
    end
    return h.callback, errors.status(event.result), before, after
end

local api = {}
_M.api = api

--- A handle for the changes of a file's stat.
-- @treturn userdata; or nil, message and name of the error
function api.new_fs_poll()
    local h = { callback = false, started = false }
    local userdata = handle.new(class, h)
    local status = C.uv_fs_poll_init(queue.loop, ffi.cast(fs_poll_ptr, handle.memory(h)))
    if status < 0 then
        return handle.abandon(h, status)
    end
    return userdata
end

--- Starts to ask.
-- @tparam userdata fs_poll
-- @tparam string path
-- @tparam number interval ms
-- @tparam function callback of an error's name or nil, and the stats before and after
-- @treturn number 0, or nil, message and name of the error
function api.fs_poll_start(userdata, path, interval, callback)
    local h = handle.check(userdata, class)
    path = check.string(2, userdata, path, interval, callback)
    interval = check.int(3, userdata, path, interval, callback)
    check.callback(4, userdata, path, interval, callback)
    if h.closing then
        return errors.fail(EINVAL)
    end
    h.callback = callback
    loop.now() -- libuv counts from the time of the loop, which may be old
    local status = C.uv_fs_poll_start(ffi.cast(fs_poll_ptr, h.ptr), on_fs_poll, path, interval)
    if status < 0 then
        return errors.fail(status)
    end
    h.started = true
    return status
end

--- Stops asking.
-- @tparam userdata fs_poll
-- @treturn number 0
function api.fs_poll_stop(userdata)
    local h = handle.check(userdata, class)
    h.started = false
    if h.closed then
        return 0
    end
    return errors.result(C.uv_fs_poll_stop(ffi.cast(fs_poll_ptr, h.ptr)))
end

--- The file that is asked about.
-- @tparam userdata fs_poll
-- @treturn string; or nil, message and name of the error
function api.fs_poll_getpath(userdata)
    local h = handle.check(userdata, class)
    if h.closed then
        return errors.fail(EINVAL)
    end
    local path, size = ffi.new("char[?]", PATH_SIZE), ffi.new("size_t[1]", PATH_SIZE)
    local status = C.uv_fs_poll_getpath(ffi.cast(fs_poll_ptr, h.ptr), path, size)
    if status < 0 then
        return errors.fail(status)
    end
    return ffi.string(path, size[0])
end

methods.start, methods.stop = api.fs_poll_start, api.fs_poll_stop
methods.getpath = api.fs_poll_getpath

return _M

--- fs_poll: asks for a file's stat again and again, and tells when it has changed.
-- @module moonlap.uv.fs_poll

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local fs_stat = require "moonlap.uv.fs_stat"
local handle = require "moonlap.uv.handle"
local loop = require "moonlap.uv.loop"
local path_watcher = require "moonlap.uv.path_watcher"
local queue = require "moonlap.uv.queue"

local _M = {}

ffi.cdef [[
int uv_fs_poll_start(uv_fs_poll_t *, uv_fs_poll_cb, const char *path, unsigned int interval);
]]

local EINVAL = errors.api.errno.EINVAL

-- uv_stat_t: twelve and four times two 64-bit fields, which libuv 1 cannot change.
local SIZE_OF_STAT = 160

local char_ptr, void_ptr = ffi.typeof "char *", ffi.typeof "void *"
local fs_poll_ptr = ffi.typeof "uv_fs_poll_t *"
local on_fs_poll = queue.callback "fs_poll"

local class, methods, api = path_watcher.define "fs_poll"
_M.api = api

queue.on[queue.KIND.fs_poll] = function(id, result, _, data)
    local h = handle.by_id[id]
    if h.closing or not h.started then
        return
    end
    local before, after
    local stats = data()
    if stats ~= nil then
        before = fs_stat.stat_table(stats)
        after = fs_stat.stat_table(ffi.cast(void_ptr, ffi.cast(char_ptr, stats) + SIZE_OF_STAT))
    end
    return h.callback, errors.status(result), before, after
end

--- Polls a file's stat.
-- @function new_fs_poll
-- @treturn userdata

--- Starts to ask.
-- @tparam userdata fs_poll
-- @tparam string path
-- @tparam number interval ms
-- @tparam function callback `err`, the stats before and after
-- @treturn number 0, or nil, message and name of the error
function api.fs_poll_start(userdata, path, interval, callback)
    local h = handle.check(userdata, class)
    path = check.string(2, userdata, path, interval, callback)
    interval = check.int(3, userdata, path, interval, callback)
    check.callback(4, userdata, path, interval, callback)
    if h.closing then
        return errors.fail(EINVAL)
    end
    loop.now() -- libuv counts from the time of the loop, which may be old
    return path_watcher.started(h, callback,
        C.uv_fs_poll_start(ffi.cast(fs_poll_ptr, handle.pointer(h)), on_fs_poll, path, interval))
end

--- Stops asking.
-- @function fs_poll_stop
-- @tparam userdata fs_poll
-- @treturn number 0

--- The file that is asked about.
-- @function fs_poll_getpath
-- @tparam userdata fs_poll
-- @treturn string; or nil, message and name of the error

methods.start = api.fs_poll_start

return _M

--- fs_event: tells what happens to a file or in a folder.
-- @module moonlap.uv.fs_event

local ffi = require "ffi"
local bit = require "bit"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local path_watcher = require "moonlap.uv.path_watcher"
local queue = require "moonlap.uv.queue"

local _M = {}

ffi.cdef [[
int uv_fs_event_start(uv_fs_event_t *, uv_fs_event_cb, const char *path, unsigned int flags);
]]

local RENAME, CHANGE = 1, 2
local WATCH_ENTRY, STAT, RECURSIVE = 1, 2, 4
local EINVAL = errors.api.errno.EINVAL

local fs_event_ptr = ffi.typeof "uv_fs_event_t *"
local char_ptr = ffi.typeof "const char *"
local on_fs_event = queue.callback "fs_event"

local class, methods, api = path_watcher.define "fs_event"
_M.api = api

queue.on[queue.KIND.fs_event] = function(id, result, extra, data)
    local h = handle.by_id[id]
    if h.closing or not h.started then
        return
    end
    local text = data()
    local name = text ~= nil and ffi.string(ffi.cast(char_ptr, text)) or nil
    local events = {}
    if bit.band(extra, RENAME) ~= 0 then
        events.rename = true
    end
    if bit.band(extra, CHANGE) ~= 0 then
        events.change = true
    end
    return h.callback, errors.status(result), name, events
end

--- Watches files and folders.
-- @function new_fs_event
-- @treturn userdata

--- Starts to watch.
-- @tparam userdata fs_event
-- @tparam string path
-- @tparam table flags `{watch_entry, stat, recursive}`, all optional
-- @tparam function callback `err`, the name in the folder or nil, and what happened: `{rename,
--   change}`
-- @treturn number 0, or nil, message and name of the error
function api.fs_event_start(userdata, path, flags, callback)
    local h = handle.check(userdata, class)
    path = check.string(2, userdata, path, flags, callback)
    check.table(3, userdata, path, flags, callback)
    check.callback(4, userdata, path, flags, callback)
    if h.closing then
        return errors.fail(EINVAL)
    end
    local bits = (flags.watch_entry and WATCH_ENTRY or 0) + (flags.stat and STAT or 0)
        + (flags.recursive and RECURSIVE or 0)
    return path_watcher.started(h, callback,
        C.uv_fs_event_start(ffi.cast(fs_event_ptr, handle.pointer(h)), on_fs_event, path, bits))
end

--- Stops watching.
-- @function fs_event_stop
-- @tparam userdata fs_event
-- @treturn number 0

--- What is being watched.
-- @function fs_event_getpath
-- @tparam userdata fs_event
-- @treturn string; or nil, message and name of the error

methods.start = api.fs_event_start

return _M

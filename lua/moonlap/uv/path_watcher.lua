--- What fs_event and fs_poll share: they are handles of libuv's that watch a path.
-- @module moonlap.uv.path_watcher

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local out = require "moonlap.uv.out"
local queue = require "moonlap.uv.queue"

local _M = {}

local new_record = handle.c_record_maker "started = false"
local EINVAL = errors.api.errno.EINVAL

--- A kind of them. Its records have the fields `callback` and `started`.
-- @tparam string name luv's: `fs_event` or `fs_poll`
-- @treturn table class, for `handle.check`
-- @treturn table methods, to which `start` is still to be added
-- @treturn table api with `new_NAME`, `NAME_stop` and `NAME_getpath`
function _M.define(name)
    ffi.cdef((([[
    int uv_NAME_init(uv_loop_t *, uv_NAME_t *);
    int uv_NAME_stop(uv_NAME_t *);
    int uv_NAME_getpath(uv_NAME_t *, char *, size_t *);
    ]]):gsub("NAME", name)))
    local prefix = "uv_" .. name
    local ptr_t = ffi.typeof(prefix .. "_t *")
    local methods, api = {}, {}
    local uv_init, uv_stop = C[prefix .. "_init"], C[prefix .. "_stop"]
    local class = handle.class(name, methods, {
        init = function(h)
            uv_init(queue.loop, ffi.cast(ptr_t, handle.memory(h))) -- cannot fail
            return h.ptr
        end,
    })

    api["new_" .. name] = function()
        return (handle.new(class, new_record()))
    end

    function methods.stop(userdata)
        local h = handle.check(userdata, class)
        h.started = false
        if not h.ptr then -- closed, or never started
            return 0
        end
        return errors.result(uv_stop(ffi.cast(ptr_t, h.ptr)))
    end

    function methods.getpath(userdata)
        local h = handle.check(userdata, class)
        if not h.ptr then
            return errors.fail(EINVAL)
        end
        return out.text_of(C[prefix .. "_getpath"], ffi.cast(ptr_t, h.ptr), out.PATH_SIZE)
    end

    api[name .. "_stop"], api[name .. "_getpath"] = methods.stop, methods.getpath
    return class, methods, api
end

--- What its `start` returns: notes that libuv was asked to start it.
-- @tparam table h
-- @param callback
-- @tparam number status libuv's answer
-- @treturn number 0, or nil, message and name of the error
function _M.started(h, callback, status)
    h.callback = callback
    if status < 0 then
        return errors.fail(status)
    end
    h.started = true
    return status
end

return _M

--- luv's functions for all handles.
-- @module moonlap.uv.handle_functions

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local closing = require "moonlap.uv.closing"
local errors = require "moonlap.uv.errors"
local fault = require "moonlap.uv.fault"
local handle = require "moonlap.uv.handle"
local loop = require "moonlap.uv.loop"

local _M = {}

ffi.cdef [[
int uv_is_active(const uv_handle_t *);
void uv_ref(uv_handle_t *);
void uv_unref(uv_handle_t *);
int uv_has_ref(const uv_handle_t *);
int uv_send_buffer_size(uv_handle_t *, int *);
int uv_recv_buffer_size(uv_handle_t *, int *);
int uv_fileno(const uv_handle_t *, int *);
]]

local function check_handle(userdata)
    local h = handle.record(userdata)
    if not h then
        check.argument_error(1, "Expected uv_handle userdata")
    end
    return h
end

local api = {}
_M.api = api

--- Does it do something: wait, read, …?
-- @tparam userdata handle
-- @treturn boolean
function api.is_active(userdata)
    local h = check_handle(userdata)
    if h.own then
        return h.own.is_active(userdata)
    end
    local is_active = h.class.is_active
    if is_active then
        return is_active(h)
    end
    return h.ptr and C.uv_is_active(h.ptr) ~= 0 or false
end

--- Is it closing or closed?
-- @tparam userdata handle
-- @treturn boolean
function api.is_closing(userdata)
    local h = check_handle(userdata)
    if h.own then
        return h.own.is_closing(userdata)
    end
    return h.closing
end

--- Closes a handle. Raises an error when it is closing already.
-- @tparam userdata handle
-- @tparam[opt] function callback without arguments
function api.close(userdata, callback)
    local h = check_handle(userdata)
    if h.own then
        return h.own.close(userdata, callback)
    end
    if h.closing then
        check.misuse(("handle %p is already closing"):format(userdata))
    end
    if callback ~= nil and type(callback) ~= "function" then
        check.callback(2, userdata, callback)
    end
    closing.close(h, callback or false)
end

--- Lets an active handle keep the loop alive, as from the start.
-- @tparam userdata handle
function api.ref(userdata)
    local h = check_handle(userdata)
    if h.own then
        return h.own.ref(userdata)
    end
    if h.class.is_active then
        if not h.referenced and h.class.is_active(h) then
            loop.add_ref(1)
        end
    elseif not h.closed then
        C.uv_ref(handle.pointer(h))
    end
    h.referenced = true
end

--- Lets the loop end although the handle is active.
-- @tparam userdata handle
function api.unref(userdata)
    local h = check_handle(userdata)
    if h.own then
        return h.own.unref(userdata)
    end
    if h.class.is_active then
        if h.referenced and h.class.is_active(h) then
            loop.add_ref(-1)
        end
    elseif not h.closed then
        C.uv_unref(handle.pointer(h))
    end
    h.referenced = false
end

--- Does it keep the loop alive when it is active?
-- @tparam userdata handle
-- @treturn boolean
function api.has_ref(userdata)
    local h = check_handle(userdata)
    if h.own then
        return h.own.has_ref(userdata)
    end
    return h.referenced and not h.closed
end

-- luv: no size, or 0, asks; anything else sets.
local function buffer_size(call, userdata, size, ...)
    local h = check_handle(userdata)
    local box = ffi.new("int[1]", check.opt_number(2, 0, userdata, size, ...))
    local asked = box[0] == 0
    if h.class.is_active then
        return errors.fail(errors.api.errno.ENOTSUP)
    end
    if h.closed then
        return errors.fail(errors.api.errno.EBADF)
    end
    local status = call(handle.pointer(h), box)
    if status < 0 then
        return errors.fail(status)
    end
    return asked and box[0] or status
end

--- The socket's send buffer.
-- @tparam userdata handle
-- @tparam[opt=0] number size bytes; 0 asks
-- @treturn number its bytes when asked
function api.send_buffer_size(...)
    local size, err, name = buffer_size(C.uv_send_buffer_size, ...)
    return size, err, name
end

--- The socket's receive buffer.
-- @tparam userdata handle
-- @tparam[opt=0] number size bytes; 0 asks
-- @treturn number its bytes when asked
function api.recv_buffer_size(...)
    local size, err, name = buffer_size(C.uv_recv_buffer_size, ...)
    return size, err, name
end

--- The handle's file descriptor.
-- @tparam userdata handle
-- @treturn number
function api.fileno(userdata)
    local h = check_handle(userdata)
    if h.class.is_active or h.class.name == "process" then -- a child's descriptor is the shim's
        return errors.fail(errors.api.errno.EINVAL)
    end
    if h.closed then
        return errors.fail(errors.api.errno.EBADF)
    end
    local fd = ffi.new "int[1]"
    local status = C.uv_fileno(handle.pointer(h), fd)
    if status < 0 then
        return errors.fail(status)
    end
    return fd[0]
end

--- A handle's type.
-- @tparam userdata handle
-- @treturn string name
-- @treturn number uv_handle_type
function api.handle_get_type(userdata)
    local class = check_handle(userdata).class
    return class.name, class.type
end

--- Calls it with every handle that is not closed, in the order of creation.
-- @tparam function callback of the handle
function api.walk(callback)
    if type(callback) ~= "function" then
        check.type_error(1, "function", callback)
    end
    local list, n = handle.list()
    for i = 1, n do
        local ok, err = xpcall(callback, fault.describe, list[i])
        if not ok then
            fault.handle(err)
        end
    end
end

jit.off(api.walk)

--- The methods of every handle, by luv's names.
_M.methods = {
    is_active = api.is_active, is_closing = api.is_closing, close = api.close, ref = api.ref,
    unref = api.unref, has_ref = api.has_ref, send_buffer_size = api.send_buffer_size,
    recv_buffer_size = api.recv_buffer_size, fileno = api.fileno, get_type = api.handle_get_type,
}

return _M

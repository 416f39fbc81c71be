--- Writing to tcp, pipe and tty.
--
-- A write is tried at once, as by uv_try_write; only what the kernel does not take becomes a
-- request.
-- @module moonlap.uv.writing

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local buffers = require "moonlap.uv.buffers"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local pending = require "moonlap.uv.pending"
local queue = require "moonlap.uv.queue"
local req = require "moonlap.uv.req"
local stream = require "moonlap.uv.stream"

local _M = {}

ffi.cdef [[
int uv_write(uv_write_t *, uv_stream_t *, const uv_buf_t *, unsigned int, uv_write_cb);
int uv_write2(uv_write_t *, uv_stream_t *, const uv_buf_t *, unsigned int, uv_stream_t *,
    uv_write_cb);
int uv_try_write(uv_stream_t *, const uv_buf_t *, unsigned int);
int uv_try_write2(uv_stream_t *, const uv_buf_t *, unsigned int, uv_stream_t *);
int uv_shutdown(uv_shutdown_t *, uv_stream_t *, uv_shutdown_cb);
]]

local on_write = queue.callback "write"
local on_shutdown = queue.callback "shutdown"

local check_stream, pointer = handle.check_stream, stream.pointer
local errno = errors.api.errno
local EAGAIN, EBADF, ENOTCONN = errno.EAGAIN, errno.EBADF, errno.ENOTCONN
local EINTR, ENOBUFS = errno.EINTR, errno.ENOBUFS
local type = type
local uvshim_try_write, uvshim_try_shutdown = C.uvshim_try_write, C.uvshim_try_shutdown
local buffers_of, complete = buffers.of, pending.add

local api = {}
_M.api = api

-- What a write or a shutdown that is complete returns: it has nothing to cancel or wait for.
local written, shut = req.complete "write", req.complete "shutdown"

-- uv_try_write, but for the ordinary stream with one system call.
local function try_write(ptr, list, n)
    local done = uvshim_try_write(ptr, list, n)
    if done < 0 and (done == EINTR or done == ENOBUFS) then
        return (C.uv_try_write(ptr, list, n))
    end
    return done
end

local function start_write(h, list, n, keep, callback, send_handle)
    local r, ptr = req.new("write", callback, pending.ended)
    r.anchor = keep
    local status
    if send_handle then
        status = C.uv_write2(ptr, pointer(h), list, n, send_handle, on_write)
    else
        status = C.uv_write(ptr, pointer(h), list, n, on_write)
    end
    if status < 0 then
        return req.abandon(r, status)
    end
    pending.start(h, r)
    return req.userdata(r)
end

--- Writes buffers.
-- @tparam table h the stream's record
-- @tparam cdata list uv_buf_t[]
-- @tparam number n how many
-- @tparam number size bytes in all
-- @param keep what the bytes lie in
-- @tparam[opt] function callback
-- @treturn userdata as `uv.write`
local function write(h, list, n, size, keep, callback)
    if h.closed then
        return errors.fail(EBADF)
    end
    local ptr = pointer(h)
    local done = try_write(ptr, list, n)
    if done == size then
        complete(h, callback, size)
        return written
    elseif done > 0 then
        list, n = buffers.rest(list, n, done)
    elseif done < 0 and done ~= EAGAIN and done ~= EBADF and C.uv_is_writable(ptr) ~= 0 then
        -- The kernel refused the bytes. To write again would get another error than the first.
        complete(h, callback, 0, errors.name(done))
        return written
    end
    return start_write(h, list, n, keep, callback)
end

_M.write = write

--- Writes.
-- @tparam userdata stream
-- @tparam string|{string,…} data
-- @tparam[opt] function callback of an error's name or nil
-- @treturn userdata the request; or nil, message and name of the error
function api.write(userdata, data, callback)
    local h = check_stream(userdata)
    if callback ~= nil and type(callback) ~= "function" then
        check.callback(3, userdata, data, callback)
    end
    local list, n, size, keep = buffers_of(2, data)
    return write(h, list, n, size, keep, callback)
end

--- Writes, and sends a handle along over a pipe with `ipc`.
-- @tparam userdata stream
-- @tparam string|{string,…} data
-- @tparam userdata send_handle a stream
-- @tparam[opt] function callback of an error's name or nil
-- @treturn userdata the request; or nil, message and name of the error
function api.write2(userdata, data, send_handle, callback)
    local h, sent = check_stream(userdata), check_stream(send_handle, 3)
    check.opt_callback(4, userdata, data, send_handle, callback)
    local list, n, _, keep = buffers_of(2, data)
    if h.closed or sent.closed then
        return errors.fail(EBADF)
    end
    local request, err, name = start_write(h, list, n, keep, callback, pointer(sent))
    return request, err, name
end

--- Writes what the kernel takes at once.
-- @tparam userdata stream
-- @tparam string|{string,…} data
-- @treturn number bytes written; or nil, message and name of the error: `EAGAIN` when none
function api.try_write(userdata, data)
    local h = check_stream(userdata)
    local list, n = buffers_of(2, data)
    if h.closed then
        return errors.fail(EBADF)
    end
    return errors.result(try_write(pointer(h), list, n))
end

--- The same with a handle.
-- @tparam userdata stream
-- @tparam string|{string,…} data
-- @tparam userdata send_handle
-- @treturn number bytes written; or nil, message and name of the error
function api.try_write2(userdata, data, send_handle)
    local h, sent = check_stream(userdata), check_stream(send_handle, 3)
    local list, n = buffers_of(2, data)
    if h.closed or sent.closed then
        return errors.fail(EBADF)
    end
    return errors.result(C.uv_try_write2(pointer(h), list, n, pointer(sent)))
end

--- Ends the writing side when everything is written.
-- @tparam userdata stream
-- @tparam[opt] function callback of an error's name or nil
-- @treturn userdata the request; or nil, message and name of the error
function api.shutdown(userdata, callback)
    local h = check_stream(userdata)
    check.opt_callback(2, userdata, callback)
    if h.closing then
        return errors.fail(ENOTCONN)
    end
    local stream_ptr = pointer(h)
    if uvshim_try_shutdown(stream_ptr) == 0 then
        pending.add_shutdown(h, callback)
        return shut
    end
    local r, ptr = req.new("shutdown", callback, pending.ended)
    local status = C.uv_shutdown(ptr, stream_ptr, on_shutdown)
    if status < 0 then
        return req.abandon(r, status)
    end
    pending.start(h, r)
    return req.userdata(r)
end

return _M

--- Reading from tcp, pipe and tty.
--
-- libuv reads during the poll. Bytes that were read before `read_stop` but not dispatched yet are
-- kept, and come first when reading starts again.
-- @module moonlap.uv.reading

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local queue = require "moonlap.uv.queue"
local stash = require "moonlap.uv.stash"
local stream = require "moonlap.uv.stream"

local _M = {}

ffi.cdef [[
int uv_read_start(uv_stream_t *, uv_alloc_cb, uv_read_cb);
int uv_read_stop(uv_stream_t *);
]]

local on_alloc = queue.callback "alloc"
local on_read = queue.callback "read"
local char_ptr = ffi.typeof "const char *"

local by_id = handle.by_id
local check_stream, pointer = handle.check_stream, stream.pointer
local errno = errors.api.errno
local EOF, EINVAL = errno.EOF, errno.EINVAL
local type, str = type, ffi.string

-- What is to be called for the end of the stream or an error, after which libuv has stopped.
local function end_call(h, result)
    h.deliver = false
    if result == EOF then
        return h.read_callback
    end
    return h.read_callback, errors.name(result)
end

-- What is to be called for bytes, and with what: for `h.deliver`. `data` is a pointer or a string.
local function deliver_string(h, result, data)
    if result > 0 then
        return h.read_callback, nil, str(data, result)
    end
    return end_call(h, result)
end

--- For `start`: the callback gets a pointer and a length instead of a string.
function _M.deliver_pointer(h, result, data)
    if result > 0 then
        return h.read_callback, nil, ffi.cast(char_ptr, data), result
    end
    return end_call(h, result)
end

queue.on[queue.KIND.read] = function(id, result, _, data)
    local h = by_id[id]
    local deliver = h.deliver
    if deliver then
        return deliver(h, result, data())
    elseif not h.closing then
        stash.keep(h, result, result > 0 and str(data(), result))
    end
end

--- Starts to read: `uv.read_start` with another way to call back.
function _M.start(userdata, callback, deliver)
    local h = check_stream(userdata)
    if type(callback) ~= "function" then
        check.callback(2, userdata, callback)
    end
    if h.closing then
        return errors.fail(EINVAL)
    end
    h.read_callback = callback
    if h.stash then
        -- After EOF or an error there is nothing more to read.
        local last = stash.start(h, deliver)
        return errors.result(last > 0 and C.uv_read_start(h.stream, on_alloc, on_read) or 0)
    end
    local status = C.uv_read_start(pointer(h), on_alloc, on_read)
    if status == 0 or h.deliver then
        h.deliver = deliver
    end
    return errors.result(status)
end

local api = {}
_M.api = api

--- Starts to read.
-- @tparam userdata stream
-- @tparam function callback `err`, the bytes; nothing at the end
-- @treturn number 0, or nil, message and name of the error
function api.read_start(userdata, callback)
    local status, err, name = _M.start(userdata, callback, deliver_string)
    return status, err, name
end

--- Stops; what has been read comes with the next start.
-- @tparam userdata stream
-- @treturn number 0
function api.read_stop(userdata)
    local h = check_stream(userdata)
    stash.stop(h)
    if h.stream and not h.closed then
        return errors.result(C.uv_read_stop(h.stream))
    end
    return 0
end

return _M

--- Reading and writing without Lua strings; an extension of luv's API.
--
--     stream:read_start_pointer(function(err, pointer, length) … end)
--     stream:write_pointer(buffer, 1000, function(err) … end)
-- @module moonlap.uv.zero_copy

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local reading = require "moonlap.uv.reading"
local writing = require "moonlap.uv.writing"

local _M = {}

local char_ptr = ffi.typeof "const char *"
local one = ffi.new "uv_buf_t[1]"
local check_stream = handle.check_stream

-- The shared buffer over memory of the caller's.
local function buffer(...)
    local _, memory = ...
    if type(memory) ~= "cdata" then
        check.type_error(2, "cdata", ...)
    end
    local length = check.number(3, ...)
    if length < 0 then
        check.argument_error(3, "length must not be negative")
    end
    one[0].base, one[0].len = ffi.cast(char_ptr, memory), length
    return one, length
end

local api = {}
_M.api = api

--- Starts to read, without making strings.
-- @tparam userdata stream
-- @tparam function callback `err`, a `const char *` and how many bytes are there, until the
--   callback returns; nothing at the end
-- @treturn number 0, or nil, message and name of the error
function api.read_start_pointer(userdata, callback)
    local status, err, name = reading.start(userdata, callback, reading.deliver_pointer)
    return status, err, name
end

--- Writes memory, which must not change until the callback comes.
-- @tparam userdata stream
-- @tparam cdata memory pointer or array, kept alive until then
-- @tparam number length bytes
-- @tparam[opt] function callback of an error's name or nil
-- @treturn userdata the request; or nil, message and name of the error
function api.write_pointer(userdata, memory, length, callback)
    local h = check_stream(userdata)
    check.opt_callback(4, userdata, memory, length, callback)
    local list, size = buffer(userdata, memory, length, callback)
    return writing.write(h, list, 1, size, memory, callback)
end

--- Writes what the kernel takes at once.
-- @tparam userdata stream
-- @tparam cdata memory pointer or array
-- @tparam number length bytes
-- @treturn number bytes written; or nil, message and name of the error: `EAGAIN` when none
function api.try_write_pointer(userdata, memory, length)
    local h = check_stream(userdata)
    local list = buffer(userdata, memory, length)
    if h.closed then
        return errors.fail(errors.api.errno.EBADF)
    end
    handle.pointer(h)
    return errors.result(C.uv_try_write(h.stream, list, 1))
end

return _M

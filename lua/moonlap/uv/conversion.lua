--- Text of Windows: UTF-16, and WTF-8, which is UTF-8 that can also hold half of a pair.
-- @module moonlap.uv.conversion

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"

local _M = {}

ffi.cdef [[
size_t uv_utf16_length_as_wtf8(const uint16_t *, ptrdiff_t);
int uv_utf16_to_wtf8(const uint16_t *, ptrdiff_t, char **, size_t *);
ptrdiff_t uv_wtf8_length_as_utf16(const char *);
void uv_wtf8_to_utf16(const char *, uint16_t *, size_t);
]]

-- Text as units of 16 bits, in memory that is aligned for them, and how many.
local function units(...)
    local text = check.string(1, ...)
    local n = math.floor(#text / 2)
    local result = ffi.new("uint16_t[?]", n + 1)
    ffi.copy(result, text, n * 2)
    return result, n
end

-- How many units a text takes, with the one that ends it.
local function count_units(...)
    local text = check.string(1, ...)
    return tonumber(C.uv_wtf8_length_as_utf16(text)), text
end

local api = {}
_M.api = api

--- UTF-16's length as WTF-8; libuv 1.49 and later.
-- @tparam string utf16 two bytes a unit, machine's order
-- @treturn number bytes
function api.utf16_length_as_wtf8(...)
    return (tonumber(C.uv_utf16_length_as_wtf8(units(...))))
end

--- UTF-16 as WTF-8; libuv 1.49 and later.
-- @tparam string utf16 two bytes a unit, machine's order
-- @treturn string; or nil, message and name of the error
function api.utf16_to_wtf8(...)
    local text, n = units(...)
    local size = ffi.new("size_t[1]", C.uv_utf16_length_as_wtf8(text, n))
    local memory = ffi.new("char[?]", size[0] + 1)
    local into = ffi.new("char *[1]", memory)
    local status = C.uv_utf16_to_wtf8(text, n, into, size)
    if status < 0 then
        return errors.fail(status)
    end
    return (ffi.string(memory, size[0]))
end

--- WTF-8's length as UTF-16; libuv 1.49 and later.
-- @tparam string wtf8
-- @treturn number units; below 0: no WTF-8
function api.wtf8_length_as_utf16(...)
    return (count_units(...)) - 1
end

--- WTF-8 as UTF-16; libuv 1.49 and later.
-- @tparam string wtf8
-- @treturn string two bytes a unit, machine's order; or nil, message and name of the error
function api.wtf8_to_utf16(...)
    local n, text = count_units(...)
    if n < 0 then
        return errors.fail(errors.api.errno.EINVAL)
    end
    local result = ffi.new("uint16_t[?]", n)
    C.uv_wtf8_to_utf16(text, result, n)
    return (ffi.string(result, (n - 1) * 2))
end

return _M

--- Out parameters: what functions of libuv's write behind pointers that they are given.
-- @module moonlap.uv.out
local ffi = require "ffi"
local errors = require "moonlap.uv.errors"

local _M = {}

--- Room for a path, in bytes: twice PATH_MAX, as luv has it.
_M.PATH_SIZE = 8192

local chars, size_box = ffi.typeof "char[?]", ffi.typeof "size_t[1]"
local pointer_box, int_box = ffi.typeof "void *[1]", ffi.typeof "int[1]"


local function read_text(code, buffer, length)
    if code < 0 then
        return errors.fail(code)
    end
    return (ffi.string(buffer, length[0]))
end


--- The text that `call(buffer, &size)` writes.
-- @tparam cdata call
-- @tparam number size room for so many bytes
-- @treturn string; or nil, message and name of the error, which is ENOBUFS for a longer text
function _M.text(call, size)
    local buffer, length = chars(size), size_box(size)
    return read_text(call(buffer, length), buffer, length)
end


--- The text that `call(subject, buffer, &size)` writes.
-- @tparam cdata call
-- @param subject what it is asked of: a handle's pointer, a name, a number
-- @tparam number size room for so many bytes
-- @tparam[opt] boolean grows is a longer text asked for again, with room for it?
-- @treturn string; or nil, message and name of the error, which is ENOBUFS for a longer text
function _M.text_of(call, subject, size, grows)
    local buffer, length = chars(size), size_box(size)
    local code = call(subject, buffer, length)
    if grows and code == errors.api.errno.ENOBUFS then
        buffer = chars(length[0])
        code = call(subject, buffer, length)
    end
    return read_text(code, buffer, length)
end


--- The list that `call(&items, &count)` allocates; it is freed.
-- @tparam cdata call
-- @tparam cdata free `free(items, count)`
-- @tparam cdata items_ptr the type of a pointer to an item
-- @tparam function add `add(list, item)` puts an item into the table that is returned
-- @treturn table; or nil, message and name of the error
function _M.list(call, free, items_ptr, add)
    local box, count = pointer_box(), int_box()
    local code = call(box, count)
    if code < 0 then
        return errors.fail(code)
    end
    local items, list = ffi.cast(items_ptr, box[0]), {}
    for i = 0, count[0] - 1 do
        add(list, items[i])
    end
    free(items, count[0])
    return list
end


return _M

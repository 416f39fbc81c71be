--- What is to be written, as libuv's buffers.
-- @module moonlap.uv.buffers

local ffi = require "ffi"
local check = require "moonlap.uv.check"
require "moonlap.uv.ffi"

local _M = {}

local type, tostring, max = type, tostring, math.max

local char_ptr = ffi.typeof "const char *"
local many = ffi.typeof "uv_buf_t[?]"
local one = ffi.new "uv_buf_t[1]" -- of fixed size, so a constant to compiled code

--- Buffers over a string or a list of strings. They are used again by the next call, and point
-- into the strings, which the caller has to keep.
-- @tparam number position of the argument
-- @tparam string|table data
-- @treturn cdata uv_buf_t[]
-- @treturn number how many
-- @treturn number bytes in all
-- @treturn string|table what to keep
function _M.of(position, data)
    if type(data) == "number" then
        data = tostring(data)
    end
    if type(data) == "string" then
        one[0].base, one[0].len = data, #data
        return one, 1, #data, data
    elseif type(data) ~= "table" then
        check.argument_error(position,
            "data must be string or table of strings, got " .. type(data))
    end
    local n, size, keep = #data, 0, {}
    if n == 0 then
        check.argument_error(position, "expected non-empty table of strings")
    end
    local list = many(n)
    for i = 1, n do
        local piece = data[i]
        if type(piece) == "number" then
            piece = tostring(piece)
        elseif type(piece) ~= "string" then
            check.argument_error(position,
                ("expected table of strings, found %s in the table"):format(type(piece)))
        end
        keep[i] = piece
        list[i - 1].base, list[i - 1].len = piece, #piece
        size = size + #piece
    end
    return list, n, size, keep
end

--- The same in memory that no later call uses again.
-- @tparam number position of the argument
-- @tparam string|table data
-- @treturn cdata uv_buf_t[]
-- @treturn number how many
-- @treturn string|table what to keep
function _M.own(position, data)
    local list, n, _, keep = _M.of(position, data)
    if list == one then
        list = many(1)
        list[0] = one[0]
    end
    return list, n, keep
end

-- -- to read into ------------------------------------------------------------------------------

local chars = ffi.typeof "char[?]"

-- Memory that has been read into, to be used again. A new object of the collector's for each read
-- costs as much as a small read itself.
local SIZE, MOST = 65536, 16
local free, n_free = {}, 0

--- Memory to read into. It is the caller's until he gives it back, or forgets it.
-- @tparam number length bytes, at most so many are read
-- @treturn cdata|nil nil when there is not so much
function _M.take(length)
    if length >= 0 and length <= SIZE then
        local n = n_free
        n_free = max(0, n - 1) -- in this order: see moonlap.uv.timer_records
        local buffer = free[n]
        free[n] = false
        return buffer or chars(SIZE)
    end
    local is_possible, buffer = pcall(chars, length)
    return is_possible and buffer or nil
end

--- Gives it back.
-- @tparam cdata buffer
-- @tparam number length as it was taken for
function _M.give_back(buffer, length)
    if n_free < MOST and length <= SIZE then
        local n = n_free + 1
        n_free = n
        free[n] = buffer
    end
end

--- The same buffers less what was written already.
-- @tparam cdata list
-- @tparam number n
-- @tparam number written bytes, fewer than all
-- @treturn cdata pointer to the first that is left
-- @treturn number how many are left
function _M.rest(list, n, written)
    local i = 0
    while written >= list[i].len do
        written = written - tonumber(list[i].len)
        i = i + 1
    end
    list[i].base = ffi.cast(char_ptr, list[i].base) + written
    list[i].len = list[i].len - written
    return list + i, n - i
end

return _M

--- The chunked transfer coding, decoded as the bytes come, in pieces of any size.
-- @module moonlap.load.chunked
local ffi = require "ffi"

local _M = {}

ffi.cdef [[
typedef struct {
    double left;        // bytes of the chunk that have not come yet
    int32_t state;      // where in the coding the next byte stands
    int32_t line;       // bytes of the line that it is in: an extension or trailers may be endless
} moonlap_load_chunks;
]]

local SIZE_FIRST, SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_TEXT,
    LAST_LF = 0, 1, 2, 3, 4, 5,
    6, 7, 8, 9
local MOST_LINE = 16384
local MOST_SIZE = 2 ^ 48
local CR, LF, SEMICOLON, SPACE, TAB = 13, 10, 59, 32, 9


--- The state of one body.
function _M.new()
    return ffi.new "moonlap_load_chunks"
end


--- Ready for the next body.
function _M.reset(chunks)
    chunks.left, chunks.state, chunks.line = 0, SIZE_FIRST, 0
end


local function hex(c)
    if c >= 48 and c <= 57 then
        return c - 48
    elseif c >= 97 and c <= 102 then
        return c - 87
    elseif c >= 65 and c <= 70 then
        return c - 55
    end
    return -1
end


--- Decodes bytes.
-- @tparam cdata chunks the state
-- @tparam cdata p bytes
-- @tparam number n how many
-- @tparam[opt] function sink called with (p, n) for each piece of the body
-- @treturn number bytes used; nil and what is wrong with them
-- @treturn boolean true when the body is complete
function _M.read(chunks, p, n, sink)
    local at = 0
    local state = chunks.state
    while at < n do
        if state == DATA then
            local size = chunks.left
            if size > n - at then
                size = n - at
            end
            if sink then
                sink(p + at, size)
            end
            at = at + size
            chunks.left = chunks.left - size
            if chunks.left == 0 then
                state = DATA_CR
            end
        else
            local c = p[at]
            at = at + 1
            chunks.line = chunks.line + 1
            if chunks.line > MOST_LINE then
                return nil, "a line of the chunked coding is longer than 16 KiB"
            end
            if state == SIZE_FIRST or state == SIZE then
                local digit = hex(c)
                if digit >= 0 then
                    chunks.left = chunks.left * 16 + digit
                    if chunks.left > MOST_SIZE then
                        return nil, "a chunk's size is out of range"
                    end
                    state = SIZE
                elseif state == SIZE_FIRST then
                    return nil, "a chunk without a size"
                elseif c == CR then
                    state = SIZE_LF
                elseif c == LF then
                    chunks.line = 0
                    state = chunks.left == 0 and TRAILER or DATA
                elseif c == SEMICOLON or c == SPACE or c == TAB then
                    state = EXTENSION
                else
                    return nil, "a chunk's size is no number"
                end
            elseif state == EXTENSION then
                if c == CR then
                    state = SIZE_LF
                end
            elseif state == SIZE_LF then
                if c ~= LF then
                    return nil, "a chunk's size does not end its line"
                end
                chunks.line = 0
                state = chunks.left == 0 and TRAILER or DATA
            elseif state == DATA_CR then
                if c == LF then
                    chunks.line, state = 0, SIZE_FIRST
                elseif c ~= CR then
                    return nil, "a chunk is longer than its size"
                else
                    state = DATA_LF
                end
            elseif state == DATA_LF then
                if c ~= LF then
                    return nil, "a chunk is longer than its size"
                end
                chunks.line, state = 0, SIZE_FIRST
            elseif state == TRAILER then -- all trailers together are bounded, so `line` goes on
                if c == LF then
                    chunks.state = SIZE_FIRST
                    return at, true
                end
                state = c == CR and LAST_LF or TRAILER_TEXT
            elseif state == TRAILER_TEXT then
                if c == LF then
                    state = TRAILER
                end
            else -- LAST_LF
                if c ~= LF then
                    return nil, "the last line of the chunked coding is not empty"
                end
                chunks.state = SIZE_FIRST
                return at, true
            end
        end
    end
    chunks.state = state
    return at, false
end


return _M

--- The head of an HTTP/1 response: what it says about the body, and where it ends.
--
-- Servers answer with the same head again and again, but for the date once a second. So the head
-- is compared with the last one first, and parsed only where it differs.
-- @module moonlap.load.response
local ffi = require "ffi"

local _M = {}

local C = ffi.C
local cast = ffi.cast
local byte_ptr = ffi.typeof "const uint8_t *"

ffi.cdef [[
void *moonlap_load_memchr(const void *, int, size_t) __asm__("memchr");
int moonlap_load_memcmp(const void *, const void *, size_t) __asm__("memcmp");
int moonlap_load_strncasecmp(const void *, const char *, size_t) __asm__("strncasecmp");

typedef struct {
    double length;          // of the body, where body is LENGTH
    int32_t head;           // bytes of the head with its empty line
    int32_t status;
    int32_t body;           // NONE, LENGTH, CHUNKED or CLOSE
    int32_t keepalive;      // 1: the connection may be used again
    int32_t memo;           // 1: the bytes of the head are kept for the next response
    int32_t capacity;
    uint8_t *bytes;
} moonlap_load_head;
]]

local NONE, LENGTH, CHUNKED, CLOSE = 0, 1, 2, 3
_M.NONE, _M.LENGTH, _M.CHUNKED, _M.CLOSE = NONE, LENGTH, CHUNKED, CLOSE

local MEMO = 4096 -- a head that is longer is parsed each time
local MOST_DIGITS = 15 -- a length with more is not exact as a double

local PREFIX = "HTTP/1."
local CR, LF, COLON, SPACE = 13, 10, 58, 32


--- What is known about the head of a side's responses: one for each side.
function _M.new()
    local bytes = ffi.new("uint8_t[?]", MEMO)
    local head = ffi.new "moonlap_load_head"
    head.bytes = bytes
    return head, bytes -- the caller keeps the bytes alive
end


local function is_digit(c)
    return c >= 48 and c <= 57
end


-- The status, 0 when bytes are missing, or nil when this is no HTTP/1 response.
local function parse_status(p, n)
    local known = n < #PREFIX and n or #PREFIX
    if C.moonlap_load_memcmp(p, PREFIX, known) ~= 0 then
        return nil
    elseif n < 13 then
        return 0
    end
    local a, b, c = p[9], p[10], p[11]
    if not is_digit(p[7]) or p[8] ~= SPACE
        or not (a > 48 and is_digit(a) and is_digit(b) and is_digit(c)) -- a status begins with 100
        or not (p[12] == SPACE or p[12] == CR or p[12] == LF) then
        return nil
    end
    return (a - 48) * 100 + (b - 48) * 10 + c - 48
end


-- The number between p and stop with blanks around it, or nil.
local function parse_length(p, at, stop)
    while at < stop and (p[at] == SPACE or p[at] == 9) do
        at = at + 1
    end
    while stop > at and (p[stop - 1] == SPACE or p[stop - 1] == 9) do
        stop = stop - 1
    end
    if at == stop or stop - at > MOST_DIGITS then
        return nil
    end
    local value = 0
    for i = at, stop - 1 do
        if not is_digit(p[i]) then
            return nil
        end
        value = value * 10 + (p[i] - 48)
    end
    return value
end


-- Lua's own functions are good enough for the two headers whose values are lists.
local function value_of(p, at, stop)
    return ffi.string(p + at, stop - at):lower()
end


-- Takes note of a header that says how the body ends. True, or nil and what is wrong with it.
local function note(head, p, at, stop)
    local size = stop - at
    if size >= 15 and C.moonlap_load_strncasecmp(p + at, "content-length:", 15) == 0 then
        local length = parse_length(p, at + 15, stop)
        if not length then
            return nil, "Content-Length is no number"
        elseif head.body == LENGTH and head.length ~= length then
            return nil, "two different Content-Length"
        elseif head.body ~= CHUNKED then
            head.body, head.length = LENGTH, length
        end
    elseif size >= 11 and C.moonlap_load_strncasecmp(p + at, "connection:", 11) == 0 then
        local value = value_of(p, at + 11, stop)
        if value:find("close", 1, true) then
            head.keepalive = 0
        elseif value:find("keep-alive", 1, true) then
            head.keepalive = 1
        end
    elseif size >= 18 and C.moonlap_load_strncasecmp(p + at, "transfer-encoding:", 18) == 0 then
        local value = value_of(p, at + 18, stop)
        if value:find "chunked%s*$" then
            head.body, head.length = CHUNKED, 0
        end
    end
    return true
end


-- Parses; results as `read` has them.
local function parse(head, p, n)
    local status = parse_status(p, n)
    if not status then
        return nil, "not an HTTP/1 response"
    elseif status == 0 then
        return 0
    end
    head.memo = 0
    head.status, head.body, head.length = status, CLOSE, 0
    head.keepalive = p[7] >= 49 and 1 or 0

    local at, first = 0, true
    while true do
        local found = C.moonlap_load_memchr(p + at, LF, n - at)
        if found == nil then
            return 0
        end
        local after = tonumber(cast(byte_ptr, found) - p) + 1
        local stop = after - 1
        if stop > at and p[stop - 1] == CR then
            stop = stop - 1
        end
        if stop == at then
            at = after
            break
        elseif not first then
            local c = p[at]
            if c == 67 or c == 99 or c == 84 or c == 116 then -- C or T
                local ok, err = note(head, p, at, stop)
                if not ok then
                    return nil, err
                end
            end
            if c ~= SPACE and c ~= 9 and C.moonlap_load_memchr(p + at, COLON, stop - at) == nil then
                return nil, "a header without a colon"
            end
        end
        at, first = after, false
    end

    if status < 200 or status == 204 or status == 304 then
        head.body, head.length = NONE, 0
    end
    if head.body == LENGTH and head.length == 0 then
        head.body = NONE
    end
    head.head = at
    if at <= MEMO then
        ffi.copy(head.bytes, p, at)
        head.memo = 1
    end
    return at
end


--- Reads the head that begins at `p`.
-- @tparam cdata head what @{new} made; afterwards it describes this response
-- @tparam cdata p bytes
-- @tparam number n how many
-- @treturn number bytes of the head; 0 when its end has not come yet; nil and what is wrong with
-- it. A third result is true when it is the same as the one before, byte for byte.
function _M.read(head, p, n)
    local size = head.head
    if head.memo == 1 and n >= size and C.moonlap_load_memcmp(p, head.bytes, size) == 0 then
        return size
    end
    return parse(head, p, n)
end


return _M

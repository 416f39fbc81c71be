--- HdrHistogram V2 encoding: a 40 byte header and the counters as ZigZag LEB128 numbers, where
-- a negative number skips as many empty buckets; wrapped in zlib, prefixed, base64.
--
-- Format: HdrHistogram's AbstractHistogram.java, encodeIntoCompressedByteBuffer.
--
-- @module moonlap.histogram.v2

local bit = require "bit"
local ffi = require "ffi"
local base64 = require "moonlap.histogram.base64"
local zlib = require "moonlap.histogram.zlib"

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift

local _M = {}

local COOKIE = 0x1c849303 + 0x10 -- the middle digit says: counters of 64 bits, ZigZag LEB128
local COMPRESSED = 0x1c849304 + 0x10
local HEADER = 40
local LONGEST = 9 -- bytes of one LEB128 number
local MAX_PAYLOAD = 2 ^ 20 * LONGEST
local INT64_MAX = 0x7fffffffffffffffULL
local ONE = "\x3f\xf0\0\0\0\0\0\0" -- 1.0: the stored integers are the values

local function int32(word)
    return string.char(band(rshift(word, 24), 255), band(rshift(word, 16), 255),
        band(rshift(word, 8), 255), band(word, 255))
end

local function int64(value)
    return int32(tonumber(rshift(value, 32))) .. int32(tonumber(band(value, 0xffffffffLL)))
end

local function read_int32(data, at)
    local a, b, c, d = data:byte(at, at + 3)
    return bor(lshift(a, 24), lshift(b, 16), lshift(c, 8), d)
end

local function read_int64(data, at)
    local high, low = read_int32(data, at), read_int32(data, at + 4)
    return bor(lshift(ffi.cast("int64_t", high), 32), band(ffi.cast("int64_t", low), 0xffffffffLL))
end

--- Counters up to the last one that is not 0 (or the first), as ZigZag LEB128.
local function payload(counts, len)
    local used = len
    while used > 1 and counts[used - 1] == 0 do
        used = used - 1
    end
    local out = ffi.new("uint8_t[?]", used * LONGEST)
    local o, i = 0, 0
    while i < used do
        local number = counts[i] * 2
        i = i + 1
        if number == 0 then
            local first = i - 1
            while i < used and counts[i] == 0 do
                i = i + 1
            end
            if i - first > 1 then
                number = 0ULL + 2 * (i - first) - 1
            end
        end
        local bytes = 1
        while number >= 128 and bytes < LONGEST do
            out[o] = bor(tonumber(band(number, 127ULL)), 128)
            number = rshift(number, 7)
            o, bytes = o + 1, bytes + 1
        end
        out[o] = tonumber(number)
        o = o + 1
    end
    return ffi.string(out, o)
end

--- @param h histogram: lowest, highest, digits, counts, len
-- @treturn string
function _M.encode(h)
    local counters = payload(h.counts, h.len)
    local stream = zlib.store(table.concat {
        int32(COOKIE), int32(#counters), int32(0), int32(h.digits),
        int64(h.lowest), int64(h.highest), ONE, counters,
    })
    return base64.encode(int32(COMPRESSED) .. int32(#stream) .. stream)
end

--- @treturn uint64_t number, next position; or nil when the data ends inside it
local function read_number(bytes, at, length)
    local number, shift = 0ULL, 0
    for k = 1, LONGEST do
        if at >= length then
            return nil
        end
        local byte = bytes[at]
        at = at + 1
        if k == LONGEST then
            return bor(number, lshift(0ULL + byte, shift)), at
        end
        number = bor(number, lshift(0ULL + band(byte, 127), shift))
        if byte < 128 then
            return number, at
        end
        shift = shift + 7
    end
end

--- Fills counters from a payload.
-- @treturn boolean true, or nil and an error
local function fill(h, data)
    local bytes = ffi.cast("const uint8_t *", data) + HEADER
    local length = #data - HEADER
    local at, index, total = 0, 0, 0ULL
    while at < length do
        local number
        number, at = read_number(bytes, at, length)
        if not number then
            return nil, "the last counter is truncated"
        end
        local magnitude = rshift(number, 1)
        if band(number, 1ULL) == 1 then -- ZigZag: odd numbers are negative
            if magnitude >= h.len - index then
                return nil, "skips beyond the last bucket"
            end
            index = index + tonumber(magnitude) + 1
        else
            if index >= h.len then
                return nil, "more counters than buckets"
            end
            total = total + magnitude
            if total > INT64_MAX then
                return nil, "the counters' sum is beyond 63 bits"
            end
            h.counts[index] = magnitude
            index = index + 1
        end
    end
    return true
end

--- Reads the header and makes the histogram that it describes.
local function open(data, make)
    if #data < HEADER then
        return nil, "shorter than its header"
    elseif band(read_int32(data, 1), 0xffffff0f) ~= band(COOKIE, 0xffffff0f) then
        return nil, "not HdrHistogram V2"
    elseif read_int32(data, 5) ~= #data - HEADER then
        return nil, "the counters' length differs from the header's"
    elseif data:sub(33, 40) ~= ONE then
        return nil, "values are scaled by a ratio other than 1"
    end
    return make(read_int64(data, 17), read_int64(data, 25), read_int32(data, 13))
end

--- @tparam string text
-- @tparam function make (lowest, highest, digits) to an empty histogram, or nil and an error
-- @return histogram with counts alone filled in, or nil and an error
function _M.decode(text, make)
    local prefixed, err = base64.decode(text)
    if not prefixed then
        return nil, err
    elseif #prefixed < 8 then
        return nil, "shorter than its prefix"
    elseif band(read_int32(prefixed, 1), 0xffffff0f) ~= band(COMPRESSED, 0xffffff0f) then
        return nil, "not HdrHistogram V2"
    end
    local length = read_int32(prefixed, 5)
    if length < 0 or length > #prefixed - 8 then
        return nil, "truncated"
    end
    local data, h, ok
    data, err = zlib.read(prefixed:sub(9, 8 + length), HEADER + MAX_PAYLOAD)
    if not data then
        return nil, err
    end
    h, err = open(data, make)
    if not h then
        return nil, err
    end
    ok, err = fill(h, data)
    if not ok then
        return nil, err
    end
    return h
end

return _M

--- Base64 (RFC 4648, padded), because plain LuaJIT has none.
--
-- @module moonlap.histogram.base64

local bit = require "bit"
local ffi = require "ffi"

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift

local _M = {}

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local PAD = ("="):byte()

local digit = ffi.new("uint8_t[64]", { ALPHABET:byte(1, -1) })
local value = ffi.new("int8_t[256]")
ffi.fill(value, 256, 0xff)
for i = 0, 63 do
    value[digit[i]] = i
end

--- @tparam string data
-- @treturn string
function _M.encode(data)
    local n = #data
    local source = ffi.cast("const uint8_t *", data)
    local out = ffi.new("uint8_t[?]", math.ceil(n / 3) * 4)
    local o = 0
    for i = 0, n - 1, 3 do
        local left = n - i
        local word = bor(lshift(source[i], 16), left > 1 and lshift(source[i + 1], 8) or 0,
            left > 2 and source[i + 2] or 0)
        out[o] = digit[rshift(word, 18)]
        out[o + 1] = digit[band(rshift(word, 12), 63)]
        out[o + 2] = left > 1 and digit[band(rshift(word, 6), 63)] or PAD
        out[o + 3] = left > 2 and digit[band(word, 63)] or PAD
        o = o + 4
    end
    return ffi.string(out, o)
end

--- @tparam string text without blanks or line breaks
-- @treturn string or nil and an error
function _M.decode(text)
    local digits = text:match("^[%w+/]*"):len()
    local padding = #text - digits
    if #text % 4 ~= 0 or padding > 2 or text:sub(digits + 1) ~= ("="):rep(padding) then
        return nil, "not base64"
    end
    local source = ffi.cast("const uint8_t *", text)
    local out = ffi.new("uint8_t[?]", #text / 4 * 3)
    local o = 0
    for i = 0, #text - 1, 4 do
        local word = 0
        for k = 0, 3 do
            word = bor(lshift(word, 6), i + k < digits and value[source[i + k]] or 0)
        end
        out[o] = rshift(word, 16)
        out[o + 1] = band(rshift(word, 8), 255)
        out[o + 2] = band(word, 255)
        o = o + 3
    end
    return ffi.string(out, o - padding)
end

return _M

--- zlib streams (RFC 1950): written as stored blocks, which needs no library and gives one
-- canonical form; read when stored without a library too, when compressed through libz.
--
-- @module moonlap.histogram.zlib

local bit = require "bit"
local ffi = require "ffi"

local band, bor, bxor, lshift, rshift = bit.band, bit.bor, bit.bxor, bit.lshift, bit.rshift

local _M = {}

local BLOCK = 65535 -- longest stored block
local EXPANSION = 1032 -- deflate's highest ratio, so that a small input claims little memory

local function adler32(data)
    local bytes = ffi.cast("const uint8_t *", data)
    local a, b = 1, 0
    for i = 0, #data - 1 do
        a = (a + bytes[i]) % 65521
        b = (b + a) % 65521
    end
    return bor(lshift(b, 16), a)
end

local function big_endian(word)
    return string.char(rshift(word, 24), band(rshift(word, 16), 255), band(rshift(word, 8), 255),
        band(word, 255))
end

--- Wraps data as stored blocks of at most 65535 bytes: header 78 01, the last block marked final.
-- @tparam string data
-- @treturn string
function _M.store(data)
    local parts = { "\x78\x01" }
    local at = 1
    repeat
        local block = data:sub(at, at + BLOCK - 1)
        at = at + #block
        local low, high = band(#block, 255), rshift(#block, 8)
        parts[#parts + 1] = string.char(at > #data and 1 or 0, low, high,
            bxor(low, 255), bxor(high, 255))
        parts[#parts + 1] = block
    until at > #data
    parts[#parts + 1] = big_endian(adler32(data))
    return table.concat(parts)
end

--- Reads a stream of stored blocks.
-- @treturn string; or nil when a block is compressed; or nil and an error
local function stored(stream)
    local parts = {}
    local at = 3
    repeat
        local kind, l1, l2, n1, n2 = stream:byte(at, at + 4)
        if kind and band(rshift(kind, 1), 3) ~= 0 then
            return nil
        end
        -- Of the first byte's other bits, RFC 1951 says that they are ignored.
        if not n2 or bxor(l1, n1) ~= 255 or bxor(l2, n2) ~= 255 then
            return nil, "corrupt stored block"
        end
        local length = l1 + l2 * 256
        local block = stream:sub(at + 5, at + 4 + length)
        if #block < length then
            return nil, "truncated"
        end
        parts[#parts + 1] = block
        at = at + 5 + length
    until band(kind, 1) == 1
    local data = table.concat(parts)
    if stream:sub(at, at + 3) ~= big_endian(adler32(data)) then
        return nil, "checksum differs"
    end
    return data
end

-- Loaded when first needed: opening a library is not for a request's hot path.
local libz

local function load_libz()
    if libz == nil then
        -- Another module may have declared it already, in these or other words.
        pcall(ffi.cdef, [[
            int uncompress(uint8_t *, unsigned long *, const uint8_t *, unsigned long);
        ]])
        local ok, lib = pcall(ffi.load, "libz.so.1")
        if not ok then
            ok, lib = pcall(ffi.load, "z")
        end
        libz = ok and lib
    end
    return libz
end

local Z_BUF_ERROR = -5

local function inflate(stream, limit)
    local lib = load_libz()
    if not lib then
        return nil, "the zlib stream is compressed and libz is not on this machine"
    end
    local room = math.min(limit, #stream * EXPANSION)
    local out = ffi.new("uint8_t[?]", room)
    local length = ffi.new("unsigned long[1]", room)
    local status = lib.uncompress(out, length, stream, #stream)
    if status == Z_BUF_ERROR then
        return nil, "corrupt zlib stream, or too long"
    elseif status ~= 0 then
        return nil, "corrupt zlib stream"
    end
    return ffi.string(out, length[0])
end

--- Reads a zlib stream, stored or compressed.
-- @tparam string stream
-- @tparam number limit the most bytes that data may have
-- @treturn string data, or nil and an error
function _M.read(stream, limit)
    local method, flags = stream:byte(1, 2)
    if not flags or band(method, 15) ~= 8 or (method * 256 + flags) % 31 ~= 0
        or band(flags, 32) ~= 0 then
        return nil, "not a zlib stream"
    end
    local data, err = stored(stream)
    if not data and not err then
        data, err = inflate(stream, limit)
    end
    if data and #data > limit then
        return nil, "longer than a histogram can be"
    end
    return data, err
end

return _M

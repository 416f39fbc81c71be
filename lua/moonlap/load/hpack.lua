--- HTTP/2's header compression, by nghttp2's library: it needs no callbacks into Lua.
-- @module moonlap.load.hpack
local ffi = require "ffi"

local _M = {}

ffi.cdef [[
typedef struct nghttp2_hd_deflater moonlap_hd_deflater;
typedef struct nghttp2_hd_inflater moonlap_hd_inflater;
typedef struct { const uint8_t *name, *value; size_t namelen,
    valuelen; uint8_t flags; } moonlap_hd_nv;
int nghttp2_hd_deflate_new(moonlap_hd_deflater **, size_t);
void nghttp2_hd_deflate_del(moonlap_hd_deflater *);
int64_t nghttp2_hd_deflate_hd(moonlap_hd_deflater *, uint8_t *, size_t, const moonlap_hd_nv *,
    size_t);
int nghttp2_hd_inflate_new(moonlap_hd_inflater **);
void nghttp2_hd_inflate_del(moonlap_hd_inflater *);
int64_t nghttp2_hd_inflate_hd2(moonlap_hd_inflater *, moonlap_hd_nv *, int *, const uint8_t *,
    size_t, int);
int nghttp2_hd_inflate_end_headers(moonlap_hd_inflater *);
int nghttp2_hd_inflate_change_table_size(moonlap_hd_inflater *, size_t);
]]

local FINAL, EMIT = 1, 2
local MOST_HEADERS, MOST_BLOCK = 128, 65536
local TABLE_SIZE = 4096

local library
local nv = ffi.new "moonlap_hd_nv"
local list = ffi.new("moonlap_hd_nv[?]", MOST_HEADERS)
local flags = ffi.new "int[1]"
local block = ffi.new("uint8_t[?]", MOST_BLOCK)


--- Loads the library.
-- @treturn boolean true; or nil and what to install
function _M.load()
    for _, name in ipairs { "libnghttp2.so.14", "nghttp2" } do
        local ok, found = pcall(ffi.load, name)
        if ok then
            library = found
            return true
        end
    end
    return nil, "HTTP/2 needs nghttp2's library (Debian: apt install libnghttp2-14)"
end


--- A connection's compressor.
function _M.deflater()
    local made = ffi.new "moonlap_hd_deflater *[1]"
    if library.nghttp2_hd_deflate_new(made, TABLE_SIZE) ~= 0 then
        return nil
    end
    return ffi.gc(made[0], library.nghttp2_hd_deflate_del)
end


--- A connection's decompressor.
function _M.inflater()
    local made = ffi.new "moonlap_hd_inflater *[1]"
    if library.nghttp2_hd_inflate_new(made) ~= 0 then
        return nil
    end
    return ffi.gc(made[0], library.nghttp2_hd_inflate_del)
end


--- Compresses headers.
-- @tparam cdata deflater
-- @tparam table names lower-case; `values` belong to them
-- @tparam table values
-- @treturn string the block; nil when it is too large
function _M.deflate(deflater, names, values)
    local count = #names
    if count > MOST_HEADERS then
        return nil
    end
    for i = 1, count do
        local item, name, value = list[i - 1], names[i], values[i]
        item.name, item.namelen = ffi.cast("const uint8_t *", name), #name
        item.value, item.valuelen = ffi.cast("const uint8_t *", value), #value
        item.flags = 0
    end
    local n = tonumber(library.nghttp2_hd_deflate_hd(deflater, block, MOST_BLOCK, list, count))
    if n < 0 then
        return nil
    end
    return ffi.string(block, n)
end


--- Decompresses a block.
-- @tparam cdata inflater
-- @tparam string data the whole block
-- @tparam boolean keep whether all headers are wanted as text
-- @treturn int the status; nil when the block is no good
-- @treturn string a head as HTTP/1 has it, when it is wanted
-- @treturn string grpc-status, or nil
function _M.inflate(inflater, data, keep)
    local p, left = ffi.cast("const uint8_t *", data), #data
    local status, grpc
    local out = keep and { "" } or nil
    while true do
        local n = tonumber(library.nghttp2_hd_inflate_hd2(inflater, nv, flags, p, left, 1))
        if n < 0 then
            return nil
        end
        p, left = p + n, left - n
        if bit.band(flags[0], EMIT) ~= 0 then
            if nv.namelen == 7 and ffi.string(nv.name, 7) == ":status" then
                status = tonumber(ffi.string(nv.value, nv.valuelen))
            elseif nv.namelen == 11 and ffi.string(nv.name, 11) == "grpc-status" then
                grpc = ffi.string(nv.value, nv.valuelen)
            elseif out then
                out[#out + 1] = ffi.string(nv.name, nv.namelen) .. ": "
                    .. ffi.string(nv.value, nv.valuelen)
            end
        end
        if bit.band(flags[0], FINAL) ~= 0 then
            library.nghttp2_hd_inflate_end_headers(inflater)
            break
        elseif n == 0 and left == 0 then
            break
        end
    end
    if out then
        out[1] = "HTTP/2 " .. tostring(status)
        out[#out + 1] = "\r\n"
    end
    return status, out and table.concat(out, "\r\n") or "", grpc
end


return _M

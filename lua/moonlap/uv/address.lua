--- IP addresses and ports, as libuv's sockaddr and as luv's tables.
-- @module moonlap.uv.address

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local bit = require "bit"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local words = require "moonlap.uv.words"

local _M = {}

-- sockaddr_storage; only Linux's layout of the two families is known here.
if not pcall(ffi.typeof, "moonlap_uv_address") then
    ffi.cdef [[
    typedef union {
        struct { uint16_t family; uint8_t port[2]; int32_t ip4; };
        char storage[128];
        uint64_t aligned;
    } moonlap_uv_address;
    ]]
end
ffi.cdef [[
int uv_ip4_addr(const char *, int port, void *);
int uv_ip6_addr(const char *, int port, void *);

int uv_ip4_name(const void *, char *, size_t);
int uv_ip6_name(const void *, char *, size_t);
]]

local AF_INET, AF_INET6 = 2, 10
local floor = math.floor

local sockaddr_ptr = ffi.typeof "const struct sockaddr *"
local address, parsed = ffi.new "moonlap_uv_address", ffi.new "moonlap_uv_address"
local text = ffi.new "char[64]"
local size = ffi.new "int[1]"

--- Reads an address from text.
-- @tparam cdata into moonlap_uv_address
-- @tparam string host IPv4 or IPv6
-- @tparam number port
-- @treturn boolean false when the text is no address
function _M.read(into, host, port)
    return C.uv_ip4_addr(host, port, into) == 0 or C.uv_ip6_addr(host, port, into) == 0
end

-- The host whose address `parsed` holds: programs mostly send to where they sent last.
local last_host

--- The same for an address that has to be one; the next call uses its memory again.
-- @tparam string host IPv4 or IPv6
-- @tparam number port
-- @treturn cdata const struct sockaddr *, or raises an error
function _M.parse(host, port)
    if host == last_host and floor(port) == port then
        parsed.port[0], parsed.port[1] = bit.rshift(port, 8), bit.band(port, 255)
    elseif _M.read(parsed, host, port) then
        last_host = host
    else
        last_host = nil
        check.misuse(("Invalid IP address or port [%s:%d]"):format(host, port))
    end
    return (ffi.cast(sockaddr_ptr, parsed))
end

-- Datagrams mostly come from where the last one came from: its IPv4 address, and that in words.
local last_ip4, last_words = 0, "0.0.0.0"

local function words_of_ip4(sockaddr)
    if sockaddr.ip4 ~= last_ip4 then
        C.uv_ip4_name(sockaddr, text, 64)
        last_ip4, last_words = sockaddr.ip4, ffi.string(text)
    end
    return last_words
end

local function words_of_ip6(sockaddr)
    C.uv_ip6_name(sockaddr, text, 64)
    return (ffi.string(text))
end

--- An address as luv shows it.
-- @tparam cdata sockaddr pointer to a struct sockaddr
-- @treturn table `{family = "inet", ip = "127.0.0.1", port = 80}`
function _M.describe(sockaddr)
    sockaddr = ffi.cast("const moonlap_uv_address *", sockaddr)
    local name, ip
    if sockaddr.family == AF_INET then
        name, ip = "inet", words_of_ip4(sockaddr)
    elseif sockaddr.family == AF_INET6 then
        name, ip = "inet6", words_of_ip6(sockaddr)
    else
        return { port = 0, ip = "" }
    end
    local port = bit.bor(bit.lshift(sockaddr.port[0], 8), sockaddr.port[1])
    return { family = name, ip = ip, port = port }
end

--- Asks libuv for one of a socket's two addresses.
-- @tparam cdata call `uv_tcp_getsockname` or its like
-- @tparam cdata|nil ptr the handle; nil or false for one that is closed
-- @treturn table as `describe` makes it, or nil, message and name of the error
function _M.ask(call, ptr)
    if not ptr then
        return errors.fail(errors.api.errno.EBADF)
    end
    size[0] = ffi.sizeof(address)
    local status = call(ptr, ffi.cast("struct sockaddr *", address), size)
    if status < 0 then
        return errors.fail(status)
    end
    return _M.describe(address)
end

--- The number of an address family.
-- @tparam string|number family
-- @treturn number 0 for an unknown word
function _M.family(family)
    return tonumber(family) or words.family_number[family] or 0
end

return _M

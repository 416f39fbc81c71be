--- Sockets that connect, and the epoll descriptor that they are registered with once, edge-
-- triggered.
-- @module moonlap.load.socket
local bit = require "bit"
local ffi = require "ffi"
require "moonlap.load.kernel"

local _M = {}

local C = ffi.C

ffi.cdef [[
typedef struct { uint8_t bytes[110]; unsigned int size; int family; } moonlap_load_address;
int moonlap_load_socket(int, int, int) __asm__("socket");
int moonlap_load_connect(int, const void *, unsigned int) __asm__("connect");
int moonlap_load_setsockopt(int, int, int, const void *, unsigned int) __asm__("setsockopt");
int moonlap_load_getsockopt(int, int, int, void *, unsigned int *) __asm__("getsockopt");
int moonlap_load_shut(int) __asm__("close");
int moonlap_load_inet_pton(int, const char *, void *) __asm__("inet_pton");
int moonlap_load_epoll_create(int) __asm__("epoll_create1");
int moonlap_load_epoll_ctl(int, int, int, moonlap_load_event *) __asm__("epoll_ctl");
]]

local AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
local SOCK_STREAM, SOCK_NONBLOCK, SOCK_CLOEXEC = 1, 0x800, 0x80000
local SOL_SOCKET, SO_ERROR, IPPROTO_TCP, TCP_NODELAY = 1, 4, 6, 1
local EPOLL_CLOEXEC, EPOLL_CTL_ADD = 0x80000, 1
local EINPROGRESS = 115

-- EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLET. The kernel wakes for EPOLLOUT only after it refused a
-- write, so it costs nothing to ask for it always.
local INTEREST = bit.bor(0x1, 0x4, 0x2000, 0x80000000)

local one = ffi.new("int[1]", 1)
local error_of = ffi.new "int[1]"
local size_of = ffi.new "unsigned int[1]"
local event = ffi.new "moonlap_load_event"


local function family_into(address, family)
    if ffi.abi "le" then
        address.bytes[0] = family
    else
        address.bytes[1] = family
    end
    address.family = family
end


--- An address from its text.
-- @tparam string text `127.0.0.1:80` or `[::1]:80`
-- @treturn cdata the address; or nil and why not
function _M.address(text)
    local address = ffi.new "moonlap_load_address"
    local host, port = text:match "^%[(.*)%]:(%d+)$"
    if not host then
        host, port = text:match "^([^:]*):(%d+)$"
    end
    port = tonumber(port)
    if not host or port > 65535 then
        return nil, "not an address: " .. text
    end
    local six = host:find(":", 1, true) ~= nil
    family_into(address, six and AF_INET6 or AF_INET)
    address.bytes[2], address.bytes[3] = math.floor(port / 256), port % 256
    address.size = six and 28 or 16
    host = host:gsub("%%.*", "")
    if C.moonlap_load_inet_pton(six and AF_INET6 or AF_INET, host, address.bytes + (six and 8
        or 4)) ~= 1 then
        return nil, "not an address: " .. text
    end
    return address
end


--- The address of a unix socket.
-- @tparam string path
function _M.unix(path)
    if #path > 107 then
        return nil, "a unix socket's path has at most 107 bytes: " .. path
    end
    local address = ffi.new "moonlap_load_address"
    family_into(address, AF_UNIX)
    ffi.copy(address.bytes + 2, path, #path)
    address.size = 3 + #path
    return address
end


--- Starts to connect.
-- @treturn int the descriptor, or the negative error
-- @treturn boolean true when it is connected already
function _M.connect(address)
    local fd = C.moonlap_load_socket(address.family, bit.bor(SOCK_STREAM, SOCK_NONBLOCK,
        SOCK_CLOEXEC), 0)
    if fd < 0 then
        return -ffi.errno(), false
    end
    if address.family ~= AF_UNIX then
        C.moonlap_load_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, one, 4)
    end
    if C.moonlap_load_connect(fd, address.bytes, address.size) == 0 then
        return fd, true
    end
    local number = ffi.errno()
    if number == EINPROGRESS then
        return fd, false
    end
    C.moonlap_load_shut(fd)
    return -number, false
end


--- The error that a connection attempt ended with, 0 for none.
function _M.error(fd)
    size_of[0] = 4
    C.moonlap_load_getsockopt(fd, SOL_SOCKET, SO_ERROR, error_of, size_of)
    return error_of[0]
end


function _M.close(fd)
    C.moonlap_load_shut(fd)
end


--- A new epoll descriptor.
function _M.epoll()
    return C.moonlap_load_epoll_create(EPOLL_CLOEXEC)
end


--- Registers a socket for good: closing it ends that.
-- @tparam int epoll
-- @tparam int fd
-- @tparam int id number of the connection, as events have it
-- @tparam int made tells this socket's events from those of the connection's sockets before
-- @treturn boolean false when the kernel refuses
function _M.watch(epoll, fd, id, made)
    event.mask, event.id, event.made = INTEREST, id, made
    return C.moonlap_load_epoll_ctl(epoll, EPOLL_CTL_ADD, fd, event) == 0
end


return _M

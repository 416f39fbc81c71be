--- Names to addresses, for scripts: `wrk.lookup` and `wrk.connect`.
-- @module moonlap.load.resolve
local ffi = require "ffi"
local kernel = require "moonlap.load.kernel"
local socket = require "moonlap.load.socket"

local _M = {}

local C = ffi.C

ffi.cdef [[
typedef struct moonlap_load_info {
    int flags, family, type, protocol;
    unsigned int size;
    uint8_t *address;
    char *name;
    struct moonlap_load_info *next;
} moonlap_load_info;
int moonlap_load_getaddrinfo(const char *, const char *, const moonlap_load_info *,
    moonlap_load_info **)
    __asm__("getaddrinfo");
void moonlap_load_freeaddrinfo(moonlap_load_info *) __asm__("freeaddrinfo");
const char *moonlap_load_gai_strerror(int) __asm__("gai_strerror");
const char *moonlap_load_inet_ntop(int, const void *, char *, unsigned int) __asm__("inet_ntop");
]]

local AF_INET, AF_INET6, SOCK_STREAM = 2, 10, 1
local POLLOUT = 4
local CONNECT_MS = 2000

local mt = {}
function mt:__tostring()
    return self.text
end


--- The address that a text names, as scripts see addresses: `tostring` gives the text.
function _M.new(text)
    return setmetatable({ text = text }, mt)
end


--- True for what @{new} and @{lookup} make.
function _M.is(value)
    return getmetatable(value) == mt
end


--- Addresses of a host and a service.
-- @treturn table a list; an error is thrown when there is none
function _M.lookup(host, service)
    local hints = ffi.new "moonlap_load_info"
    hints.type = SOCK_STREAM
    local found = ffi.new "moonlap_load_info *[1]"
    local status = C.moonlap_load_getaddrinfo(host, service, hints, found)
    if status ~= 0 then
        error(("unable to resolve %s:%s %s"):format(host, tostring(service),
            ffi.string(C.moonlap_load_gai_strerror(status))), 2)
    end
    local list, info, text = {}, found[0], ffi.new "char[64]"
    while info ~= nil do
        local six = info.family == AF_INET6
        if six or info.family == AF_INET then
            C.moonlap_load_inet_ntop(info.family, info.address + (six and 8 or 4), text, 64)
            local port = info.address[2] * 256 + info.address[3]
            list[#list + 1] = _M.new((six and "[%s]:%d" or "%s:%d"):format(ffi.string(text), port))
        end
        info = info.next
    end
    C.moonlap_load_freeaddrinfo(found[0])
    return list
end


--- Whether somebody answers at an address.
function _M.connect(addr)
    local address = socket.address(tostring(addr))
    if not address then
        return false
    end
    local fd, at_once = socket.connect(address)
    if fd < 0 then
        return false
    end
    local ok = at_once or kernel.poll({ fd }, POLLOUT, CONNECT_MS)[1] ~= nil
        and socket.error(fd) == 0
    socket.close(fd)
    return ok
end


return _M

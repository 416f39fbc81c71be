--- luv's functions for names of hosts and services: `getaddrinfo`, `getnameinfo`.
-- @module moonlap.uv.dns
local ffi = require "ffi"
local address = require "moonlap.uv.address"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local queue = require "moonlap.uv.queue"
local requests = require "moonlap.uv.req"
local words = require "moonlap.uv.words"
local C = require "moonlap.uv.ffi"

local _M = {}
local api = {}
_M.api = api

ffi.cdef [[
int uv_getaddrinfo(void *loop, void *req, void *, const char *node, const char *service,
    const void *hints);
void uv_freeaddrinfo(void *addrinfo);
int uv_getnameinfo(void *loop, void *req, void *, const void *address, int flags);
size_t uv_req_size(int type);
]]

-- What stands before a request's own fields. libuv has no functions for the results; uv.h calls
-- these fields "marked as private, but they really aren't", and libuv 1 can't move them.
local HEAD = [[
    void *data;
    int type;
    void *reserved[6];
    void *loop;
    void *work[5];
    void *on_done;
]]
local GETADDRINFO = "struct {" .. HEAD .. [[
    void *hints;
    char *hostname, *service;
    void *addrinfo;
    int retcode;
}]]
local GETNAMEINFO = "struct {" .. HEAD .. [[
    uint64_t address[16];
    int flags;
    char host[1025], service[32];
    int retcode;
}]]
local ADDRINFO = [[struct {
    int flags, family, socktype, protocol;
    uint32_t length;
    void *address;
    char *canonname;
    void *next;
}]]
-- Not "$ *", which busted takes for the same type each time.
local getaddrinfo_t, getaddrinfo_ptr = ffi.typeof(GETADDRINFO), ffi.typeof(GETADDRINFO .. "*")
local getnameinfo_t, getnameinfo_ptr = ffi.typeof(GETNAMEINFO), ffi.typeof(GETNAMEINFO .. "*")
local addrinfo_t, addrinfo_ptr = ffi.typeof(ADDRINFO), ffi.typeof(ADDRINFO .. "*")
assert(ffi.sizeof(getaddrinfo_t) == C.uv_req_size(8)
    and ffi.sizeof(getnameinfo_t) == C.uv_req_size(9),
    "this libuv lays its DNS requests out in a way that moonlap.uv does not know")


local on_getaddrinfo = queue.callback "getaddrinfo"
local on_getnameinfo = queue.callback "getnameinfo"

local FAMILY = words.family_number


local function address_entry(info)
    local described = address.describe(info.address)
    return {
        family = described.family,
        addr = described.ip,
        port = described.port ~= 0 and described.port or nil,
        socktype = words.socktype_word[info.socktype],
        protocol = words.protocol_word(info.protocol),
        canonname = info.canonname ~= nil and ffi.string(info.canonname) or nil,
    }
end


-- The list of addresses in a finished request, which is freed.
local function take_addresses(req)
    local first = ffi.cast(getaddrinfo_ptr, req).addrinfo
    local info, list = ffi.cast(addrinfo_ptr, first), {}
    while info ~= nil do
        if info.family == FAMILY.inet or info.family == FAMILY.inet6 then
            list[#list + 1] = address_entry(info)
        end
        info = ffi.cast(addrinfo_ptr, info.next)
    end
    C.uv_freeaddrinfo(first)
    return list
end


-- A hint that is a number or a word; a word that is not known means any.
local function hint(hints, name, number_of)
    local value = hints[name]
    if type(value) == "number" then
        return value
    elseif type(value) == "string" then
        return rawget(number_of, value) or tonumber(value) or number_of[value] or 0
    elseif value ~= nil then
        check.argument_error(3, name .. " hint must be string if set")
    end
    return 0
end


local PROTOCOLS = setmetatable({}, {
    __index = function(_, word)
        return words.protocol_number(word)
            or check.argument_error(3, "invalid protocol: " .. word)
    end,
})

local function flag(hints, name, value)
    return hints[name] and value or 0
end


-- Without a loop, as it belongs to what LuaJIT compiles of `getaddrinfo`.
local function read_hints(hints)
    local result = addrinfo_t()
    result.family = hint(hints, "family", FAMILY)
    result.socktype = hint(hints, "socktype", words.socktype_number)
    result.protocol = hint(hints, "protocol", PROTOCOLS)
    result.flags = flag(hints, "passive", 0x1) + flag(hints, "canonname", 0x2)
        + flag(hints, "numerichost", 0x4) + flag(hints, "v4mapped", 0x8) + flag(hints, "all", 0x10)
        + flag(hints, "addrconfig", 0x20) + flag(hints, "numericserv", 0x400)
    return result
end


local function opt_string(position, ...)
    if (select(position, ...)) == nil then
        return nil
    end
    return check.string(position, ...)
end


local function decode_addresses(request, status)
    if status < 0 then
        return errors.name(status)
    end
    return nil, take_addresses(request.ptr)
end


-- A function with varargs begins no trace, this one does.
local function start_addresses(callback, node, service, hints)
    local request, req = requests.new("getaddrinfo", callback, decode_addresses)
    local code = C.uv_getaddrinfo(queue.loop, req, on_getaddrinfo, node, service, hints)
    if code < 0 then
        return requests.abandon(request, code)
    end
    return requests.userdata(request)
end


--- The addresses of a host or a service.
-- @tparam[opt] string host
-- @tparam[opt] string service a name or a port
-- @tparam[opt] table hints `family`, `socktype`, `protocol` as words or numbers; the flags
-- `addrconfig`, `v4mapped`, `all`, `numerichost`, `passive`, `numericserv`, `canonname`
-- @param[opt] callback `callback(err, addresses)`
-- @treturn table a list of `{addr, family, port, socktype, protocol, canonname}`; the request when
-- there is a callback
function api.getaddrinfo(...)
    local node, service = opt_string(1, ...), opt_string(2, ...)
    local hints
    if (select(3, ...)) ~= nil then
        local wanted = check.table(3, ...)
        hints = read_hints(wanted)
        if wanted.numericserv and not service then
            service = "00"
        end
    end
    local callback = check.opt_callback(4, ...)

    if not callback then
        local req = getaddrinfo_t()
        local code = C.uv_getaddrinfo(queue.loop, req, nil, node, service, hints)
        if code < 0 then
            return errors.fail(code)
        end
        return take_addresses(req)
    end

    return start_addresses(callback, node, service, hints)
end


-- luv's table of an address as a sockaddr.
local function read_address(from)
    local ip, port, family = from.ip, from.port, from.family
    if ip ~= nil and type(ip) ~= "string" and type(ip) ~= "number" then
        check.argument_error(1, "ip property must be string if set")
    end
    if port ~= nil and not tonumber(port) then
        check.argument_error(1, "port property must be integer if set")
    end
    port = tonumber(port) or 0

    local sockaddr = ffi.new "moonlap_uv_address"
    if (ip or port ~= 0)
        and not address.read(sockaddr, ip and tostring(ip) or "0.0.0.0", port) then
        check.argument_error(1, "Invalid ip address or port")
    end

    if type(family) == "string" then
        sockaddr.family = tonumber(family) or FAMILY[family] or 0
    elseif type(family) == "number" then
        sockaddr.family = family
    elseif family ~= nil then
        check.argument_error(1, "family must be string if set")
    end
    return sockaddr
end


local function names(req)
    local info = ffi.cast(getnameinfo_ptr, req)
    return ffi.string(info.host), ffi.string(info.service)
end


local function decode_names(request, status)
    if status < 0 then
        return errors.name(status)
    end
    return nil, names(request.ptr)
end


local function start_names(callback, sockaddr)
    local request, req = requests.new("getnameinfo", callback, decode_names)
    local code = C.uv_getnameinfo(queue.loop, req, on_getnameinfo, sockaddr, 0)
    if code < 0 then
        return requests.abandon(request, code)
    end
    return requests.userdata(request)
end


--- The names of an address.
-- @tparam table address `{ip, port, family}`
-- @param[opt] callback `callback(err, host, service)`
-- @treturn string the host; the request when there is a callback
-- @treturn string the service
function api.getnameinfo(...)
    local sockaddr = read_address(check.table(1, ...))
    local callback = check.opt_callback(2, ...)
    if not callback then
        local req = getnameinfo_t()
        local code = C.uv_getnameinfo(queue.loop, req, nil, sockaddr, 0)
        if code < 0 then
            return errors.fail(code)
        end
        return names(req)
    end

    return start_names(callback, sockaddr)
end


return _M

--- TCP sockets.
-- @module moonlap.uv.tcp

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local address = require "moonlap.uv.address"
local check = require "moonlap.uv.check"
local closing = require "moonlap.uv.closing"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local pending = require "moonlap.uv.pending"
local queue = require "moonlap.uv.queue"
local req = require "moonlap.uv.req"
local stream = require "moonlap.uv.stream"

local _M = {}

ffi.cdef [[
int uv_tcp_init(uv_loop_t *, uv_tcp_t *);
int uv_tcp_init_ex(uv_loop_t *, uv_tcp_t *, unsigned int);
int uv_tcp_open(uv_tcp_t *, int);
int uv_tcp_nodelay(uv_tcp_t *, int);
int uv_tcp_keepalive(uv_tcp_t *, int, unsigned int);
int uv_tcp_keepalive_ex(uv_tcp_t *, int, unsigned int idle, unsigned int interval,
    unsigned int count);
int uv_tcp_simultaneous_accepts(uv_tcp_t *, int);
int uv_tcp_bind(uv_tcp_t *, const struct sockaddr *, unsigned int);
int uv_tcp_getsockname(const uv_tcp_t *, struct sockaddr *, int *);
int uv_tcp_getpeername(const uv_tcp_t *, struct sockaddr *, int *);
int uv_tcp_connect(uv_connect_t *, uv_tcp_t *, const struct sockaddr *, uv_connect_cb);
int uv_tcp_close_reset(uv_tcp_t *, uv_close_cb);
]]

local IPV6ONLY = 1
local HAS_PROBES = C.uv_version() >= 0x013400
local EBADF = errors.api.errno.EBADF

local on_connect = queue.callback "connect"
local tcp_ptr = ffi.typeof "uv_tcp_t *"

local function init(h, flags)
    local memory = handle.memory(h, flags ~= nil)
    local status
    local tcp = ffi.cast(tcp_ptr, memory)
    if flags then
        status = C.uv_tcp_init_ex(queue.loop, tcp, flags)
    else
        status = C.uv_tcp_init(queue.loop, tcp)
    end
    if status < 0 then
        return nil, status
    end
    return stream.opened(h)
end

local methods = stream.methods()
local class = handle.class("tcp", methods, stream.hooks(init))

-- The record and the pointer; a closed one has neither.
local function open_tcp(userdata)
    local h = handle.check(userdata, class)
    if h.closed then
        return h
    end
    return h, ffi.cast(tcp_ptr, handle.pointer(h))
end

local api = {}
_M.api = api

--- A TCP handle without a socket.
-- @tparam[opt] string|number family such as `"inet"`: makes the socket now
-- @treturn userdata; or nil, message and name of the error
function api.new_tcp(family)
    local flags
    if family ~= nil then
        if type(family) ~= "string" and type(family) ~= "number" then
            check.argument_error(1, "expected string or integer")
        end
        flags = address.family(family)
        if flags == 0 and not tonumber(family) then
            check.argument_error(1,
                ("invalid or unknown address family: '%s'"):format(family))
        end
    end
    local h = stream.fields()
    local userdata = handle.new(class, h)
    if flags then
        local ptr, status = init(h, flags)
        if not ptr then
            return handle.abandon(h, status)
        end
    end
    return userdata
end

--- Takes over a socket.
-- @tparam userdata tcp
-- @tparam number fd
-- @treturn number 0, or nil, message and name of the error
function api.tcp_open(userdata, fd)
    local _, ptr = open_tcp(userdata)
    fd = check.int(2, userdata, fd)
    return errors.result(ptr and C.uv_tcp_open(ptr, fd) or EBADF)
end

--- Switches Nagle's algorithm off (`true`) or on.
-- @tparam userdata tcp
-- @tparam boolean enable
-- @treturn number 0, or nil, message and name of the error
function api.tcp_nodelay(userdata, enable)
    local _, ptr = open_tcp(userdata)
    enable = check.flag(2, userdata, enable)
    return errors.result(ptr and C.uv_tcp_nodelay(ptr, enable) or EBADF)
end

--- Switches keep-alive probes on or off.
-- @tparam userdata tcp
-- @tparam boolean enable
-- @tparam[opt] number delay seconds before the first; wanted when `enable` is true
-- @tparam[opt=1] number interval seconds between two; from libuv 1.52 on, as `count`
-- @tparam[opt=10] number count of probes in vain that end the connection
-- @treturn number 0, or nil, message and name of the error
function api.tcp_keepalive(userdata, enable, delay, interval, count)
    local _, ptr = open_tcp(userdata)
    local on = check.flag(2, userdata, enable)
    local seconds = on == 1 and check.int(3, userdata, enable, delay) or 0
    if not HAS_PROBES then
        return errors.result(ptr and C.uv_tcp_keepalive(ptr, on, seconds) or EBADF)
    elseif on == 1 then
        interval = check.opt_number(4, 1, userdata, enable, delay, interval)
        count = check.opt_number(5, 10, userdata, enable, delay, interval, count)
    end
    return errors.result(ptr and C.uv_tcp_keepalive_ex(ptr, on, seconds, interval or 0, count or 0)
        or EBADF)
end

--- Windows only: lets several accepts wait at once.
-- @tparam userdata tcp
-- @tparam boolean enable
-- @treturn number 0, or nil, message and name of the error
function api.tcp_simultaneous_accepts(userdata, enable)
    local _, ptr = open_tcp(userdata)
    enable = check.flag(2, userdata, enable)
    return errors.result(ptr and C.uv_tcp_simultaneous_accepts(ptr, enable) or EBADF)
end

--- Binds to an address.
-- @tparam userdata tcp
-- @tparam string host IPv4 or IPv6
-- @tparam number port 0: any that is free
-- @tparam[opt] table flags `{ipv6only = true}`
-- @treturn number 0, or nil, message and name of the error
function api.tcp_bind(userdata, host, port, flags)
    local _, ptr = open_tcp(userdata)
    host, port = check.string(2, userdata, host, port), check.int(3, userdata, host, port)
    local sockaddr = address.parse(host, port)
    local bits = type(flags) == "table" and flags.ipv6only and IPV6ONLY or 0
    return errors.result(ptr and C.uv_tcp_bind(ptr, sockaddr, bits) or EBADF)
end

--- The address of this end.
-- @tparam userdata tcp
-- @treturn table `{family, ip, port}`; or nil, message and name of the error
function api.tcp_getsockname(userdata)
    local _, ptr = open_tcp(userdata)
    return address.ask(C.uv_tcp_getsockname, ptr)
end

--- The address of the other end.
-- @tparam userdata tcp
-- @treturn table `{family, ip, port}`; or nil, message and name of the error
function api.tcp_getpeername(userdata)
    local _, ptr = open_tcp(userdata)
    return address.ask(C.uv_tcp_getpeername, ptr)
end

--- Connects.
-- @tparam userdata tcp
-- @tparam string host IPv4 or IPv6
-- @tparam number port
-- @tparam[opt] function callback of an error's name or nil
-- @treturn userdata the request; or nil, message and name of the error
function api.tcp_connect(userdata, host, port, callback)
    local _, ptr = open_tcp(userdata)
    host, port = check.string(2, userdata, host, port), check.int(3, userdata, host, port)
    local sockaddr = address.parse(host, port)
    check.opt_callback(4, userdata, host, port, callback)
    if not ptr then
        return errors.fail(EBADF)
    end
    local r, request = req.new("connect", callback, req.status)
    local status = C.uv_tcp_connect(request, ptr, sockaddr, on_connect)
    if status < 0 then
        return req.abandon(r, status)
    end
    return req.userdata(r)
end

--- The older name of `uv.stream_get_write_queue_size`.
-- @tparam userdata tcp
-- @treturn number
function api.tcp_write_queue_size(userdata)
    handle.check(userdata, class)
    return stream.api.stream_get_write_queue_size(userdata)
end

--- Closes with a reset (RST) instead of an orderly end.
-- @tparam userdata tcp
-- @tparam[opt] function callback without arguments
-- @treturn number 0, or nil, message and name of the error
function api.tcp_close_reset(userdata, callback)
    local h, ptr = open_tcp(userdata)
    check.opt_callback(2, userdata, callback)
    if not ptr then
        return errors.fail(EBADF)
    end
    if h.closing then
        check.misuse(("handle %p is already closing"):format(userdata))
    end
    local status = pending.is_shutting(h) and errors.api.errno.EINVAL
        or C.uv_tcp_close_reset(ptr, closing.on_close)
    if status < 0 then
        return errors.fail(status)
    end
    closing.close(h, callback or false, true)
    return status
end

for _, name in ipairs {
    "open", "nodelay", "keepalive", "simultaneous_accepts", "bind", "getpeername", "getsockname",
    "connect", "write_queue_size", "close_reset",
} do
    methods[name] = api["tcp_" .. name]
end

return _M

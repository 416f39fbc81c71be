--- UDP sockets.
--
-- A datagram is sent at once (uv_udp_try_send) where the kernel takes it. What arrives is read
-- whole into the shim's slab.
-- @module moonlap.uv.udp

local ffi = require "ffi"
local bit = require "bit"
local C = require "moonlap.uv.ffi"
local address = require "moonlap.uv.address"
local buffers = require "moonlap.uv.buffers"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local pending = require "moonlap.uv.pending"
local queue = require "moonlap.uv.queue"
local stash = require "moonlap.uv.stash"
local req = require "moonlap.uv.req"
local udp_handle = require "moonlap.uv.udp_handle"
local udp_multicast = require "moonlap.uv.udp_multicast"

local _M = {}

ffi.cdef [[
int uv_udp_open(uv_udp_t *, int);
int uv_udp_open_ex(uv_udp_t *, int, unsigned int flags);
int uv_udp_bind(uv_udp_t *, const struct sockaddr *, unsigned int);
int uv_udp_getsockname(const uv_udp_t *, struct sockaddr *, int *);
int uv_udp_getpeername(const uv_udp_t *, struct sockaddr *, int *);
int uv_udp_set_broadcast(uv_udp_t *, int);
int uv_udp_set_ttl(uv_udp_t *, int);
int uv_udp_send(uv_udp_send_t *, uv_udp_t *, const uv_buf_t *, unsigned int,
    const struct sockaddr *, uv_udp_send_cb);
int uv_udp_try_send(uv_udp_t *, const uv_buf_t *, unsigned int, const struct sockaddr *);
int uv_udp_try_send2(uv_udp_t *, unsigned int, uv_buf_t **, unsigned int *, struct sockaddr **,
    unsigned int flags);
int uv_udp_recv_start(uv_udp_t *, uv_alloc_cb, uv_udp_recv_cb);
int uv_udp_recv_stop(uv_udp_t *);
size_t uv_udp_get_send_queue_size(const uv_udp_t *);
size_t uv_udp_get_send_queue_count(const uv_udp_t *);
]]

local PARTIAL, MMSG_CHUNK, RECVMMSG = 2, 8, 256
local IPV6ONLY, REUSEADDR, LINUX_RECVERR = 1, 4, 32
local REUSEPORT = C.uv_version() >= 0x013100 and 64 or 0
local HAS_OPEN_EX = C.uv_version() >= 0x013400
local max = math.max
local errno = errors.api.errno
local EBADF, EAGAIN = errno.EBADF, errno.EAGAIN
local EINTR, ENOBUFS = errno.EINTR, errno.ENOBUFS
local uvshim_udp_send = C.uvshim_udp_send

-- libuv finds these before it asks the kernel, and uv_udp_send returns them.
local REFUSED = {
    [EAGAIN] = true, [EBADF] = true, [errno.EINVAL] = true, [errno.EISCONN] = true,
    [errno.EDESTADDRREQ] = true,
}

local on_recv_alloc = queue.callback("recv_alloc", "uv_alloc_cb")
local on_recv = queue.callback("recv", "uv_udp_recv_cb")
local on_udp_send = queue.callback "udp_send"
local datagram_ptr = ffi.typeof "uvshim_datagram *"

local class, open_udp = udp_handle.class, udp_handle.open

local function flags_of(extra)
    local flags = {}
    if bit.band(extra, PARTIAL) ~= 0 then
        flags.partial = true
    end
    if bit.band(extra, MMSG_CHUNK) ~= 0 then
        flags.mmsg_chunk = true
    end
    return flags
end

queue.on[queue.KIND.recv_none] = function(id, _, extra)
    local h = handle.by_id[id]
    if h.deliver then
        return h.callback, nil, nil, nil, flags_of(extra)
    end
end

-- A datagram that was kept while the handle was stopped.
local function deliver_kept(h, result, datagram)
    return h.callback, errors.status(result), datagram.bytes, datagram.from, datagram.flags
end

queue.on[queue.KIND.recv] = function(id, result, extra, data)
    local h = handle.by_id[id]
    local flags, received, bytes, from = flags_of(extra), data(), nil, nil
    if received ~= nil then
        local datagram = ffi.cast(datagram_ptr, received)
        bytes, from = ffi.string(datagram.base, result), address.describe(datagram.address)
    end
    if h.deliver then
        return h.callback, errors.status(result), bytes, from, flags
    elseif not h.closing then
        stash.keep(h, result, { bytes = bytes, from = from, flags = flags })
    end
end

local new_record = handle.c_record_maker "deliver = false, done = false, udp = false"

local api = {}
_M.api = api

--- A UDP handle without a socket.
-- @tparam[opt] string|number|table family `"inet"`, its number, or `{family, mmsgs}`: a family
--   makes the socket now; `mmsgs`: datagrams that one system call may receive
-- @treturn userdata; or nil, message and name of the error
function api.new_udp(family)
    local flags, mmsgs = 0, 1
    if type(family) == "table" then
        local wanted = family.family
        if type(wanted) == "number" or type(wanted) == "string" then
            flags = bit.band(address.family(wanted), 0xff)
        elseif wanted ~= nil then
            check.argument_error(1, "family must be string or integer if set")
        end
        mmsgs = family.mmsgs == nil and 1 or tonumber(family.mmsgs)
        if not mmsgs then
            check.argument_error(1, "mmsgs must be integer if set")
        end
    elseif type(family) == "number" or type(family) == "string" then
        flags = bit.band(address.family(family), 0xff)
    elseif family ~= nil then
        check.argument_error(1, "expected table, string, or integer")
    end
    local h = new_record()
    local userdata = handle.new(class, h)
    if mmsgs > 1 then
        flags = bit.bor(flags, RECVMMSG)
    end
    if flags ~= 0 then
        local ptr, status = udp_handle.init(h, flags)
        if not ptr then
            return handle.abandon(h, status)
        end
    end
    if mmsgs > 1 then
        C.uvshim_set_mmsgs(h.udp, mmsgs)
    end
    return userdata
end

--- How many bytes wait to be sent.
-- @tparam userdata udp
-- @treturn number
function api.udp_get_send_queue_size(userdata)
    local _, ptr = open_udp(userdata)
    return ptr and tonumber(C.uv_udp_get_send_queue_size(ptr)) or 0
end

--- How many datagrams wait to be sent.
-- @tparam userdata udp
-- @treturn number
function api.udp_get_send_queue_count(userdata)
    local _, ptr = open_udp(userdata)
    return ptr and tonumber(C.uv_udp_get_send_queue_count(ptr)) or 0
end

local function reuse_bits(flags)
    return (flags.reuseaddr and REUSEADDR or 0) + (flags.reuseport and REUSEPORT or 0)
end

--- Takes over a socket.
-- @tparam userdata udp
-- @tparam number fd
-- @tparam[opt] table|number flags `{reuseaddr, reuseport}`, from libuv 1.52 on
-- @treturn number 0, or nil, message and name of the error
function api.udp_open(userdata, fd, flags)
    local _, ptr = open_udp(userdata)
    fd = check.int(2, userdata, fd)
    if not HAS_OPEN_EX then
        return errors.result(ptr and C.uv_udp_open(ptr, fd) or EBADF)
    elseif flags == nil or type(flags) == "table" then
        flags = flags and reuse_bits(flags) or 0
    elseif type(flags) ~= "number" then
        check.argument_error(3, "expected integer or table")
    end
    return errors.result(ptr and C.uv_udp_open_ex(ptr, fd, flags) or EBADF)
end

--- Binds to an address.
-- @tparam userdata udp
-- @tparam string host IPv4 or IPv6
-- @tparam number port 0: any that is free
-- @tparam[opt] table flags `{reuseaddr, ipv6only, linux_recverr, reuseport}`, the last one from
--   libuv 1.49 on
-- @treturn number 0, or nil, message and name of the error
function api.udp_bind(userdata, host, port, flags)
    local _, ptr = open_udp(userdata)
    host, port = check.string(2, userdata, host, port), check.int(3, userdata, host, port)
    local sockaddr = address.parse(host, port)
    local bits = 0
    if type(flags) == "table" then
        bits = reuse_bits(flags) + (flags.ipv6only and IPV6ONLY or 0)
            + (flags.linux_recverr and LINUX_RECVERR or 0)
    end
    return errors.result(ptr and C.uv_udp_bind(ptr, sockaddr, bits) or EBADF)
end

--- The address of this end.
-- @tparam userdata udp
-- @treturn table `{family, ip, port}`; or nil, message and name of the error
function api.udp_getsockname(userdata)
    local _, ptr = open_udp(userdata)
    return address.ask(C.uv_udp_getsockname, ptr)
end

--- The address that it is connected to.
-- @tparam userdata udp
-- @treturn table `{family, ip, port}`; or nil, message and name of the error
function api.udp_getpeername(userdata)
    local _, ptr = open_udp(userdata)
    return address.ask(C.uv_udp_getpeername, ptr)
end

--- Allows broadcasts.
-- @tparam userdata udp
-- @tparam boolean on
-- @treturn number 0, or nil, message and name of the error
function api.udp_set_broadcast(...)
    local _, ptr = open_udp((...))
    local flag = check.flag(2, ...)
    return errors.result(ptr and C.uv_udp_set_broadcast(ptr, flag) or EBADF)
end

--- How many routers a datagram may pass.
-- @tparam userdata udp
-- @tparam number ttl 1 to 255
-- @treturn number 0, or nil, message and name of the error
function api.udp_set_ttl(userdata, ttl)
    local _, ptr = open_udp(userdata)
    ttl = check.int(2, userdata, ttl)
    return errors.result(ptr and C.uv_udp_set_ttl(ptr, ttl) or EBADF)
end

-- Where to send to: nil, nil for a connected handle. To luv what was left out is no nil.
local function destination(position, ...)
    local host, port = select(position, ...)
    local n = select("#", ...)
    if host == nil and port == nil and n > position then
        return nil
    elseif (host == nil and n >= position) or (port == nil and n > position) then
        check.argument_error(host == nil and position + 1 or position,
            "Both host and port must be nil if one is nil")
    elseif type(host) ~= "string" then
        check.argument_error(position, "Host must be string or nil")
    elseif type(port) ~= "number" then
        check.argument_error(position + 1, "Port must be number or nil")
    end
    return address.parse(host, port)
end

-- uv_udp_try_send, but for the ordinary socket with one system call.
local function try_send(ptr, list, n, sockaddr)
    local done = uvshim_udp_send(ptr, list, n, sockaddr)
    if done < 0 and (done == EINTR or done == ENOBUFS) then
        return (C.uv_udp_try_send(ptr, list, n, sockaddr))
    end
    return done
end

local sent = 0 -- what udp_send returns

--- Sends a datagram.
-- @tparam userdata udp
-- @tparam string|{string,…} data
-- @tparam[opt] string host nil, as the port, when connected
-- @tparam[opt] number port
-- @tparam[opt] function callback of an error's name or nil
-- @treturn number 0; or nil, message and name of the error
function api.udp_send(userdata, data, host, port, callback)
    local h, ptr = open_udp(userdata)
    local sockaddr = destination(3, userdata, data, host, port, callback)
    check.opt_callback(5, userdata, data, host, port, callback)
    local list, n, _, keep = buffers.of(2, data)
    if not ptr then
        return errors.fail(EBADF)
    end
    local done = try_send(ptr, list, n, sockaddr)
    if done >= 0 or not REFUSED[done] then
        pending.add(h, callback, max(0, done), errors.status(done))
        return sent
    end
    local r, request = req.new("udp_send", callback, pending.ended)
    r.anchor = keep
    local status = C.uv_udp_send(request, ptr, list, n, sockaddr, on_udp_send)
    if status < 0 then
        return req.abandon(r, status)
    end
    pending.start(h, r)
    return sent
end

--- Sends a datagram, or fails when the kernel does not take it at once.
-- @tparam userdata udp
-- @tparam string|{string,…} data
-- @tparam[opt] string host nil, as the port, when connected
-- @tparam[opt] number port
-- @treturn number bytes; or nil, message and name of the error
function api.udp_try_send(userdata, data, host, port)
    local _, ptr = open_udp(userdata)
    local list, n = buffers.of(2, data)
    local sockaddr = destination(3, userdata, data, host, port)
    return errors.result(ptr and try_send(ptr, list, n, sockaddr) or EBADF)
end

-- The addresses and buffers of several datagrams, and what keeps them.
local function datagrams(messages)
    local n, keep = #messages, {}
    local lists, counts = ffi.new("uv_buf_t *[?]", n), ffi.new("unsigned int[?]", n)
    local addresses, to = ffi.new("moonlap_uv_address[?]", n), ffi.new("struct sockaddr *[?]", n)
    for i = 1, n do
        local message = messages[i]
        if type(message) ~= "table" then
            check.argument_error(2, ("message %d must be a table"):format(i))
        end
        local list, count, strings = buffers.own(2, message.data)
        keep[i] = { list, strings }
        lists[i - 1], counts[i - 1] = list, count
        local addr = message.addr
        if addr ~= nil then
            if type(addr) ~= "table" then
                check.argument_error(2, ("addr of message %d must be a table"):format(i))
            end
            local parsed = destination(1, addr.ip, addr.port)
            if parsed then
                ffi.copy(addresses + i - 1, parsed, ffi.sizeof "moonlap_uv_address")
                to[i - 1] = ffi.cast("struct sockaddr *", addresses + i - 1)
            end
        end
    end
    keep.addresses = addresses
    return n, lists, counts, to, keep
end

--- Sends the datagrams that the kernel takes at once; libuv 1.50 and later.
-- @tparam userdata udp
-- @tparam {table,…} messages each `{data, addr}`; `addr`: `{ip, port}`, or nil when connected
-- @tparam[opt] number flags not used yet
-- @treturn number how many were sent; or nil, message and name of the error
function api.udp_try_send2(...)
    local _, ptr = open_udp((...))
    local messages, flags = check.table(2, ...), (select(3, ...))
    if flags ~= nil and type(flags) ~= "number" and type(flags) ~= "table" then
        check.argument_error(3, "expected nil, integer, or table")
    end
    if not ptr then
        return errors.fail(EBADF)
    end
    local n, lists, counts, to, keep = datagrams(messages)
    local status = C.uv_udp_try_send2(ptr, n, lists, counts, to,
        type(flags) == "number" and flags or 0)
    keep.addresses = nil -- kept up to here
    return errors.result(status)
end

--- Starts to receive.
-- @tparam userdata udp
-- @tparam function callback `err`, the datagram, its sender `{family, ip, port}`, flags `{partial,
--   mmsg_chunk}`; datagram and sender are nil when there is nothing more for now
-- @treturn number 0, or nil, message and name of the error
function api.udp_recv_start(userdata, callback)
    local h, ptr = open_udp(userdata)
    check.callback(2, userdata, callback)
    if not ptr then
        return errors.fail(EBADF)
    end
    h.callback = callback
    local status = C.uv_udp_recv_start(ptr, on_recv_alloc, on_recv)
    if status < 0 then
        return errors.fail(status)
    end
    if h.stash then
        stash.start(h, deliver_kept)
    else
        h.deliver = deliver_kept
    end
    return status
end

--- Stops receiving; what has come by then comes with the next start.
-- @tparam userdata udp
-- @treturn number 0
function api.udp_recv_stop(userdata)
    local h, ptr = open_udp(userdata)
    stash.stop(h)
    return ptr and errors.result(C.uv_udp_recv_stop(ptr)) or 0
end

--- Sets where datagrams go to and come from.
-- @tparam userdata udp
-- @tparam[opt] string host nil, as the port, to undo it
-- @tparam[opt] number port
-- @treturn number 0, or nil, message and name of the error
function api.udp_connect(...)
    local _, ptr = open_udp((...))
    local sockaddr = destination(2, ...)
    return errors.result(ptr and C.uvshim_udp_connect(ptr, sockaddr) or EBADF)
end

for _, functions in ipairs { api, udp_multicast.api } do
    for name, fn in pairs(functions) do
        local method = name:match "^udp_(.*)"
        if method and (method ~= "try_send2" or C.uv_version() >= 0x013200) then
            udp_handle.methods[method] = fn
        end
    end
end

return _M

--- Multicast with UDP sockets: groups, and how what is sent to them travels.
-- @module moonlap.uv.udp_multicast

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local udp_handle = require "moonlap.uv.udp_handle"

local _M = {}
local api = {}
_M.api = api

ffi.cdef [[
int uv_udp_set_membership(uv_udp_t *, const char *, const char *, int);
int uv_udp_set_source_membership(uv_udp_t *, const char *, const char *, const char *, int);
int uv_udp_set_multicast_loop(uv_udp_t *, int);
int uv_udp_set_multicast_ttl(uv_udp_t *, int);
int uv_udp_set_multicast_interface(uv_udp_t *, const char *);
]]

local EBADF = errors.api.errno.EBADF
local open_udp = udp_handle.open

local MEMBERSHIP = { leave = 0, join = 1 }

local function interface(position, ...)
    local name = (select(position, ...))
    if type(name) == "number" then
        return tostring(name)
    elseif (name ~= nil and type(name) ~= "string") or select("#", ...) < position then
        check.argument_error(position, "expected string or nil")
    end
    return name
end

--- Joins or leaves a multicast group.
-- @tparam userdata udp
-- @tparam string group its address
-- @tparam[opt] string interface_addr
-- @tparam string how `"join"` or `"leave"`
-- @treturn number 0, or nil, message and name of the error
function api.udp_set_membership(...)
    local _, ptr = open_udp((...))
    local group, interface_addr = check.string(2, ...), interface(3, ...)
    local how = check.option(4, MEMBERSHIP, ...)
    return errors.result(ptr and C.uv_udp_set_membership(ptr, group, interface_addr, how) or EBADF)
end

--- For one sender.
-- @tparam userdata udp
-- @tparam string group its address
-- @tparam[opt] string interface_addr
-- @tparam string source_addr
-- @tparam string how `"join"` or `"leave"`
-- @treturn number 0, or nil, message and name of the error
function api.udp_set_source_membership(...)
    local _, ptr = open_udp((...))
    local group, interface_addr = check.string(2, ...), interface(3, ...)
    local source_addr, how = check.string(4, ...), check.option(5, MEMBERSHIP, ...)
    return errors.result(ptr
        and C.uv_udp_set_source_membership(ptr, group, interface_addr, source_addr, how) or EBADF)
end

--- Should sent multicast come back to this machine?
-- @tparam userdata udp
-- @tparam boolean on
-- @treturn number 0, or nil, message and name of the error
function api.udp_set_multicast_loop(...)
    local _, ptr = open_udp((...))
    local flag = check.flag(2, ...)
    return errors.result(ptr and C.uv_udp_set_multicast_loop(ptr, flag) or EBADF)
end

--- How many routers a multicast datagram may pass.
-- @tparam userdata udp
-- @tparam number ttl 1 to 255
-- @treturn number 0, or nil, message and name of the error
function api.udp_set_multicast_ttl(userdata, ttl)
    local _, ptr = open_udp(userdata)
    ttl = check.int(2, userdata, ttl)
    return errors.result(ptr and C.uv_udp_set_multicast_ttl(ptr, ttl) or EBADF)
end

--- The interface that multicast leaves by.
-- @tparam userdata udp
-- @tparam string interface_addr
-- @treturn number 0, or nil, message and name of the error
function api.udp_set_multicast_interface(userdata, interface_addr)
    local _, ptr = open_udp(userdata)
    interface_addr = check.string(2, userdata, interface_addr)
    return errors.result(ptr and C.uv_udp_set_multicast_interface(ptr, interface_addr) or EBADF)
end

return _M

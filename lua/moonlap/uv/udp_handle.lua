--- What the functions of UDP handles share: their class.
-- @module moonlap.uv.udp_handle

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local handle = require "moonlap.uv.handle"
local pending = require "moonlap.uv.pending"
local queue = require "moonlap.uv.queue"
local stash = require "moonlap.uv.stash"

local _M = {}

ffi.cdef [[
int uv_udp_init_ex(uv_loop_t *, uv_udp_t *, unsigned int);
]]

local udp_ptr = ffi.typeof "uv_udp_t *"

--- Gives a handle libuv's. Without flags that cannot fail, and waits until it is needed.
-- @tparam table h
-- @tparam[opt] number flags as of uv_udp_init_ex: a family makes the socket
-- @treturn cdata|nil uv_handle_t *
-- @treturn number libuv's error
function _M.init(h, flags)
    local udp = ffi.cast(udp_ptr, handle.memory(h, flags ~= nil))
    local status = C.uv_udp_init_ex(queue.loop, udp, flags or 0)
    if status < 0 then
        return nil, status
    end
    h.udp = udp
    return h.ptr
end

local init = _M.init

--- What a UDP handle can do, by name.
_M.methods = {}

local class = handle.class("udp", _M.methods, {
    init = init, last_calls = pending.last_calls, stop = stash.forget,
})

--- The class of UDP handles.
_M.class = class

--- The record and the pointer of a UDP handle.
-- @param userdata
-- @treturn table h; raises an error for anything else
-- @treturn cdata|boolean uv_udp_t *, false for one that is closed
function _M.open(userdata)
    local h = handle.check(userdata, class)
    if not h.udp and not h.closed then
        init(h)
    end
    return h, not h.closed and h.udp
end

return _M

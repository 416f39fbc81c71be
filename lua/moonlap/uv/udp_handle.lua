--- What the functions of UDP handles share: their class.
-- @module moonlap.uv.udp_handle

local handle = require "moonlap.uv.handle"
local pending = require "moonlap.uv.pending"

local _M = {}

--- What a UDP handle can do, by name.
_M.methods = {}

local class = handle.class("udp", _M.methods, { last_calls = pending.last_calls })

--- The class of UDP handles.
_M.class = class

--- The record and the pointer of a UDP handle.
-- @param userdata
-- @treturn table h; raises an error for anything else
-- @treturn cdata|boolean uv_udp_t *, false for one that is closed
function _M.open(userdata)
    local h = handle.check(userdata, class)
    return h, not h.closed and h.udp
end

return _M

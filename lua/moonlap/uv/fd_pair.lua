--- Pairs of descriptors that are connected: socketpair(2) and pipe(2).
-- @module moonlap.uv.fd_pair

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local words = require "moonlap.uv.words"

local _M = {}
local api = {}
_M.api = api

ffi.cdef [[
int uv_socketpair(int type, int protocol, int *pair, int flags0, int flags1);
int uv_pipe(int *fds, int read_flags, int write_flags);
]]

local NONBLOCK = 0x40

-- The flags of one end.
local function flags_of(position, ...)
    local flags = (select(position, ...))
    if flags ~= nil and type(flags) ~= "table" then
        check.own_type_error(position, "table or nil", ...)
    end
    return flags and flags.nonblock and NONBLOCK or 0
end

--- Two connected sockets.
-- @tparam[opt="stream"] string|number kind
-- @tparam[opt=0] string|number protocol its number, or its name in /etc/protocols
-- @tparam[opt] table flags1 `{nonblock = true}` for the first
-- @tparam[opt] table flags2 the same for the second
-- @treturn {number,number} descriptors; or nil, message and name of the error
function api.socketpair(kind, protocol, flags1, flags2)
    local type_number, protocol_number = 1, 0
    if type(kind) == "string" then
        type_number = words.socktype_number[kind] or tonumber(kind)
        if not type_number then
            check.argument_error(1, "invalid socket type: " .. kind)
        end
    elseif kind ~= nil then
        type_number = tonumber(kind) or check.argument_error(1,
            "socket type must be string or integer if set, got " .. check.own_type_name(1, kind))
    end
    if type(protocol) == "string" and not tonumber(protocol) then
        protocol_number = words.protocol_number(protocol)
        if not protocol_number then
            check.argument_error(2, "invalid protocol: " .. protocol)
        end
    elseif protocol ~= nil then
        protocol_number = tonumber(protocol) or check.argument_error(2,
            "protocol must be string or integer if set, got "
            .. check.own_type_name(2, kind, protocol))
    end
    local first = flags_of(3, kind, protocol, flags1, flags2)
    local second = flags_of(4, kind, protocol, flags1, flags2)
    local pair = ffi.new "int[2]"
    local status = C.uv_socketpair(type_number, protocol_number, pair, first, second)
    if status < 0 then
        return errors.fail(status)
    end
    return { pair[0], pair[1] }
end

--- The two ends of a new pipe(2).
-- @tparam[opt] table read_flags `{nonblock = true}`
-- @tparam[opt] table write_flags the same
-- @treturn table `{read = fd, write = fd}`; or nil, message and name of the error
function api.pipe(read_flags, write_flags)
    local first = flags_of(1, read_flags, write_flags)
    local second = flags_of(2, read_flags, write_flags)
    local fds = ffi.new "int[2]"
    local status = C.uv_pipe(fds, first, second)
    if status < 0 then
        return errors.fail(status)
    end
    return { read = fds[0], write = fds[1] }
end

return _M

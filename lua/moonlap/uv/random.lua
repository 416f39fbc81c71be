--- `uv.random`: random bytes from the system.
-- @module moonlap.uv.random
local ffi = require "ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local queue = require "moonlap.uv.queue"
local requests = require "moonlap.uv.req"
local C = require "moonlap.uv.ffi"

local _M = {}
local api = {}
_M.api = api

ffi.cdef [[
int uv_random(void *loop, void *req, void *buf, size_t length, unsigned int flags, void *);
]]

local on_random = queue.callback "random"
local MOST_BYTES = 0x7fffffff


local function check_flags(position, ...)
    local flags = select(position, ...)
    if flags == nil or type(flags) == "table" then
        return 0
    elseif type(flags) ~= "number" then
        check.argument_error(position, "expected nil, integer, or table")
    end
    return check.int(position, ...) % 0x100000000
end


local function decode(request, status)
    if status < 0 then
        return errors.name(status)
    end
    return nil, ffi.string(request.anchor, ffi.sizeof(request.anchor))
end


--- Random bytes, fit for keys.
-- @tparam number length how many
-- @tparam[opt] nil|number|table flags none are known yet
-- @param[opt] callback `callback(err, bytes)`
-- @treturn string the bytes; 0 when there is a callback
function api.random(...)
    local length = check.number(1, ...)
    if length < 0 or length > MOST_BYTES then
        return errors.fail(errors.api.errno.E2BIG)
    end
    local flags, callback = check_flags(2, ...), check.opt_callback(3, ...)
    local buffer = ffi.new("uint8_t[?]", length)
    if not callback then
        local code = C.uv_random(nil, nil, buffer, length, flags, nil)
        if code < 0 then
            return errors.fail(code)
        end
        return (ffi.string(buffer, length))
    end

    local request, req = requests.new("random", callback, decode)
    request.anchor = buffer
    local code = C.uv_random(queue.loop, req, buffer, length, flags, on_random)
    if code < 0 then
        return requests.abandon(request, code)
    end
    return code
end


return _M

--- Pipes: Unix domain sockets and the ends of pipe(2).
-- @module moonlap.uv.pipe

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local out = require "moonlap.uv.out"
local queue = require "moonlap.uv.queue"
local req = require "moonlap.uv.req"
local stream = require "moonlap.uv.stream"

local _M = {}

ffi.cdef [[
int uv_pipe_init(uv_loop_t *, uv_pipe_t *, int ipc);
int uv_pipe_open(uv_pipe_t *, int);
int uv_pipe_bind(uv_pipe_t *, const char *);
void uv_pipe_connect(uv_connect_t *, uv_pipe_t *, const char *, uv_connect_cb);
int uv_pipe_bind2(uv_pipe_t *, const char *, size_t, unsigned int flags);
int uv_pipe_connect2(uv_connect_t *, uv_pipe_t *, const char *, size_t, unsigned int flags,
    uv_connect_cb);
int uv_pipe_getsockname(const uv_pipe_t *, char *, size_t *);
int uv_pipe_getpeername(const uv_pipe_t *, char *, size_t *);
void uv_pipe_pending_instances(uv_pipe_t *, int);
int uv_pipe_pending_count(uv_pipe_t *);
int uv_pipe_pending_type(uv_pipe_t *);
int uv_pipe_chmod(uv_pipe_t *, int);
const char *uv_handle_type_name(int);
]]

local EBADF = errors.api.errno.EBADF
local READABLE, WRITABLE = 1, 2

local on_connect = queue.callback "connect"
local pipe_ptr = ffi.typeof "uv_pipe_t *"

local function init(h)
    local memory = handle.memory(h)
    C.uv_pipe_init(queue.loop, ffi.cast(pipe_ptr, memory), h.ipc and 1 or 0)
    return stream.opened(h)
end

local methods = stream.methods()
local class = handle.class("pipe", methods, stream.hooks(init))

-- The record and the pointer; a closed one has none.
local function open_pipe(userdata)
    local h = handle.check(userdata, class)
    if h.closed then
        return h
    end
    return h, ffi.cast(pipe_ptr, handle.pointer(h))
end

local api = {}
_M.api = api

--- A pipe handle without a descriptor.
-- @tparam[opt=false] boolean ipc may handles be sent over it?
-- @treturn userdata
function api.new_pipe(ipc)
    if ipc ~= nil and type(ipc) ~= "boolean" then
        check.argument_error(1, "Expected boolean or nil")
    end
    local h = stream.fields()
    if ipc then
        h.ipc = true
    end
    return (handle.new(class, h))
end

--- Takes over a descriptor.
-- @tparam userdata pipe
-- @tparam number fd
-- @treturn number 0, or nil, message and name of the error
function api.pipe_open(userdata, fd)
    local _, ptr = open_pipe(userdata)
    fd = check.int(2, userdata, fd)
    return errors.result(ptr and C.uv_pipe_open(ptr, fd) or EBADF)
end

--- Binds to a path.
-- @tparam userdata pipe
-- @tparam string name
-- @treturn number 0, or nil, message and name of the error
function api.pipe_bind(userdata, name)
    local _, ptr = open_pipe(userdata)
    name = check.string(2, userdata, name)
    return errors.result(ptr and C.uv_pipe_bind(ptr, name) or EBADF)
end

--- Connects; every error goes to the callback.
-- @tparam userdata pipe
-- @tparam string name path
-- @tparam[opt] function callback of an error's name or nil
-- @treturn userdata the request
function api.pipe_connect(userdata, name, callback)
    local _, ptr = open_pipe(userdata)
    name = check.string(2, userdata, name, callback)
    check.opt_callback(3, userdata, name, callback)
    if not ptr then
        return errors.fail(EBADF)
    end
    local r, request = req.new("connect", callback, req.status)
    C.uv_pipe_connect(request, ptr, name, on_connect)
    return req.userdata(r)
end

local NO_TRUNCATE = 1

local function flags_of(...)
    local flags = (select(3, ...))
    if type(flags) == "number" then
        return check.int(3, ...)
    elseif flags ~= nil and type(flags) ~= "table" then
        check.argument_error(3, "expected nil, integer, or table")
    end
    return flags and flags.no_truncate and NO_TRUNCATE or 0
end

--- Binds to a path, or to an abstract name, which begins with a zero byte; libuv
-- 1.46 and later.
-- @tparam userdata pipe
-- @tparam string name
-- @tparam[opt] table flags `{no_truncate = true}`: a name too long is an error
-- @treturn number 0, or nil, message and name of the error
function api.pipe_bind2(userdata, name, flags)
    local _, ptr = open_pipe(userdata)
    name = check.string(2, userdata, name)
    local bits = flags_of(userdata, name, flags)
    return errors.result(ptr and C.uv_pipe_bind2(ptr, name, #name, bits) or EBADF)
end

--- Connects to such a name; libuv 1.46 and later.
-- @tparam userdata pipe
-- @tparam string name
-- @tparam[opt] table flags as of `uv.pipe_bind2`
-- @tparam[opt] function callback of an error's name or nil
-- @treturn userdata the request; or nil, message and name of the error
function api.pipe_connect2(userdata, name, flags, callback)
    local _, ptr = open_pipe(userdata)
    name = check.string(2, userdata, name)
    local bits = flags_of(userdata, name, flags)
    check.opt_callback(4, userdata, name, flags, callback)
    if not ptr then
        return errors.fail(EBADF)
    end
    local r, request = req.new("connect", callback, req.status)
    local status = C.uv_pipe_connect2(request, ptr, name, #name, bits, on_connect)
    if status < 0 then
        return req.abandon(r, status)
    end
    return req.userdata(r)
end

local function name_of(call, userdata)
    local _, ptr = open_pipe(userdata)
    if not ptr then
        return errors.fail(EBADF)
    end
    return out.text_of(call, ptr, out.PATH_SIZE)
end

--- The path of this end.
-- @tparam userdata pipe
-- @treturn string; or nil, message and name of the error
function api.pipe_getsockname(userdata)
    local path, err, name = name_of(C.uv_pipe_getsockname, userdata)
    return path, err, name
end

--- The path of the other end.
-- @tparam userdata pipe
-- @treturn string; or nil, message and name of the error
function api.pipe_getpeername(userdata)
    local path, err, name = name_of(C.uv_pipe_getpeername, userdata)
    return path, err, name
end

--- Windows only: how many instances wait for connections.
-- @tparam userdata pipe
-- @tparam number count
function api.pipe_pending_instances(userdata, count)
    local _, ptr = open_pipe(userdata)
    count = check.int(2, userdata, count)
    if ptr then
        C.uv_pipe_pending_instances(ptr, count)
    end
end

--- How many handles have come and wait for `uv.accept`.
-- @tparam userdata pipe
-- @treturn number
function api.pipe_pending_count(userdata)
    local _, ptr = open_pipe(userdata)
    return ptr and C.uv_pipe_pending_count(ptr) or 0
end

--- The type of the first of them.
-- @tparam userdata pipe
-- @treturn string|nil such as `"tcp"`
function api.pipe_pending_type(userdata)
    local _, ptr = open_pipe(userdata)
    local kind = ptr and C.uv_pipe_pending_type(ptr) or 0
    if kind > 0 then
        return (ffi.string(C.uv_handle_type_name(kind)))
    end
end

local MODES = { r = READABLE, w = WRITABLE, rw = READABLE + WRITABLE, wr = READABLE + WRITABLE }

--- Lets other users reach the pipe.
-- @tparam userdata pipe
-- @tparam string flags `"r"`, `"w"`, `"rw"` or `"wr"`
-- @treturn number 0, or nil, message and name of the error
function api.pipe_chmod(userdata, flags)
    local _, ptr = open_pipe(userdata)
    local mode = check.option(2, MODES, userdata, flags)
    return errors.result(ptr and C.uv_pipe_chmod(ptr, mode) or EBADF)
end

for _, name in ipairs {
    "open", "bind", "chmod", "connect", "getsockname", "getpeername", "pending_instances",
    "pending_count", "pending_type",
} do
    methods[name] = api["pipe_" .. name]
end
if C.uv_version() >= 0x012e00 then
    methods.bind2, methods.connect2 = api.pipe_bind2, api.pipe_connect2
end

return _M

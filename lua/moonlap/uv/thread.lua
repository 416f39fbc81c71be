--- Threads, each with a Lua state of its own.
-- @module moonlap.uv.thread

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local barrier = require "moonlap.uv.barrier"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local loading = require "moonlap.uv.loading"
local message = require "moonlap.uv.message"
local worker = require "moonlap.uv.worker"

local _M = {}

ffi.cdef [[
typedef struct uvshim_thread uvshim_thread;
uvshim_thread *uvshim_thread_start(const char *boot, size_t boot_size, const char *message,
    size_t size, double stack_size, int *status);
int uvshim_thread_join(uvshim_thread *);
int uvshim_thread_detach(uvshim_thread *);
void uvshim_thread_drop(uvshim_thread *);
double uvshim_thread_id(uvshim_thread *);
]]

-- What a userdata stands for: `id`, and `started`, its C record, where it was started from here.
local records = setmetatable({}, { __mode = "k" })
local template = newproxy(true)

local function new(id, started)
    local userdata = newproxy(template)
    records[userdata] = { id = id, started = started }
    return userdata
end

local function check_thread(position, ...)
    local userdata = select(position, ...)
    return userdata ~= nil and records[userdata]
        or check.type_error(position, "uv_thread", ...)
end

--- A thread as the system's threads are named.
-- @tparam number position of the argument
-- @param ... all arguments
-- @return cdata unsigned long[1]
function _M.id(position, ...)
    return ffi.new("unsigned long[1]", check_thread(position, ...).id)
end

--- A function's code, which another state can load.
-- @tparam number position of the argument
-- @param ... all arguments
-- @treturn string
function _M.code(position, ...)
    local fn = select(position, ...)
    if type(fn) == "string" or type(fn) == "number" then
        return (tostring(fn))
    elseif type(fn) ~= "function" then
        check.type_error(position, "function", ...)
    end
    local ok, code = pcall(string.dump, fn)
    if not ok then
        check.misuse "Error: unable to dump given function"
    end
    return code
end

local function stack_size_of(options)
    local size = options.stack_size
    if size == nil then
        return -1
    end
    return (tonumber(size))
        or check.argument_error(1, "stack_size option must be a number if set")
end

local api = {}
_M.api = api

--- Runs a function in a new thread and Lua state, without upvalues; the module `luv` is this
-- library there. An error ends the process.
-- @function new_thread
-- @tparam[opt] table options `stack_size`: bytes
-- @tparam function|string entry a function or its code
-- @param ... nil, booleans, numbers, strings, async handles, threads, semaphores
-- @treturn userdata the thread; or nil, message and name of the error
local function new_thread(...)
    local at, stack_size = 1, -1
    if type((...)) == "table" then
        at, stack_size = 2, stack_size_of((...))
    end
    local code = _M.code(at, ...)
    local text, err = message.encode(1, code, select(at + 1, ...))
    if not text then
        check.misuse(err)
    end
    local boot = worker.boot()
    local status = ffi.new "int[1]"
    local started = C.uvshim_thread_start(boot, #boot, text, #text, stack_size, status)
    if started == nil then
        return errors.fail(status[0])
    end
    return new(C.uvshim_thread_id(started), ffi.gc(started, C.uvshim_thread_drop))
end

jit.off(new_thread)
api.new_thread = barrier.of(new_thread)

local function finish(call, ...)
    local t = check_thread(1, ...)
    local status = t.started and call(t.started) or errors.api.errno.EINVAL
    if status < 0 then
        return errors.fail(status)
    end
    return true
end

--- Waits for its end.
-- @tparam userdata thread
-- @treturn boolean true; or nil, message and name of the error
function api.thread_join(...)
    local ok, err, name = finish(C.uvshim_thread_join, ...)
    return ok, err, name
end

--- Nobody will join it.
-- @tparam userdata thread
-- @treturn boolean true; or nil, message and name of the error
function api.thread_detach(...)
    local ok, err, name = finish(C.uvshim_thread_detach, ...)
    return ok, err, name
end

--- This thread.
-- @treturn userdata
function api.thread_self()
    return new(C.uvshim_thread_id(nil), false)
end

--- The same as `==`.
-- @tparam userdata thread
-- @tparam userdata other
-- @treturn boolean
function api.thread_equal(...)
    return check_thread(1, ...).id == check_thread(2, ...).id
end

local meta = getmetatable(template)
local methods = {}
meta.__index = methods
for _, name in ipairs { "join", "equal", "detach" } do
    methods[name] = api["thread_" .. name]
end

-- Those of `moonlap.uv.thread_settings`, which needs this module, by libuv's version.
local LATER = {
    getaffinity = 0x012d00, setaffinity = 0x012d00, getcpu = 0x012d00,
    getpriority = 0x013000, setpriority = 0x013000, getname = 0x013200,
}
for name, version in pairs(LATER) do
    methods[name] = C.uv_version() >= version and function(...)
        return loading.module("thread_settings").api["thread_" .. name](...)
    end or nil
end
meta.__eq = api.thread_equal
meta.__tostring = function(userdata)
    return ("uv_thread_t: 0x%x"):format(records[userdata].id)
end

message.kinds.T = {
    to = function(userdata)
        local t = records[userdata]
        return t and t.id
    end,
    from = function(id)
        return new(id, false)
    end,
}

return _M

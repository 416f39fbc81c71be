--- What can be set of threads, with later versions of libuv: CPUs, priority, name.
-- @module moonlap.uv.thread_settings

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local thread = require "moonlap.uv.thread"

local _M = {}

ffi.cdef [[
int uv_cpumask_size(void);
int uv_thread_getaffinity(unsigned long *, char *, size_t);
int uv_thread_setaffinity(unsigned long *, char *, char *, size_t);
int uv_thread_getcpu(void);
int uv_thread_getpriority(unsigned long, int *);
int uv_thread_setpriority(unsigned long, int);
int uv_thread_getname(unsigned long *, char *, size_t);
int uv_thread_setname(const char *);
]]

local NAME_SIZE = 256

local function flags_of(mask, size)
    local list = {}
    for i = 1, size do
        list[i] = mask[i - 1] ~= 0
    end
    return list
end

local function done(status)
    if status < 0 then
        return errors.fail(status)
    end
    return true
end

local api = {}
_M.api = api

--- A thread's CPUs; libuv 1.45 and later.
-- @tparam userdata thread
-- @tparam[opt] number size of the mask, at least `uv.cpumask_size()`
-- @treturn {boolean,…} the first one is CPU 1; or nil, message and name of the error
function api.thread_getaffinity(...)
    local id, least = thread.id(1, ...), C.uv_cpumask_size()
    if least < 0 then
        return errors.fail(least)
    end
    local size = check.opt_number(2, least, ...)
    if size < least then
        check.argument_error(2, ("cpumask size must be >= %d (from cpumask_size()), got %d"):format(
            least, size))
    end
    local mask = ffi.new("char[?]", size)
    local status = C.uv_thread_getaffinity(id, mask, size)
    if status < 0 then
        return errors.fail(status)
    end
    return flags_of(mask, size)
end

--- Sets a thread's CPUs; libuv 1.45 and later.
-- @tparam userdata thread
-- @tparam {boolean,…} mask from CPU 1 on; missing: false
-- @tparam[opt=false] boolean get_old return the old mask?
-- @treturn boolean|table true, or the old mask; or nil, message and name of the error
function api.thread_setaffinity(...)
    local id, list, get_old = thread.id(1, ...), check.table(2, ...), (select(3, ...))
    local least = C.uv_cpumask_size()
    if least < 0 then
        return errors.fail(least)
    end
    local size = math.max(#list, least)
    local mask, old = ffi.new("char[?]", size), ffi.new("char[?]", size)
    for i = 1, size do
        mask[i - 1] = list[i] and 1 or 0
    end
    local status = C.uv_thread_setaffinity(id, mask, get_old and old or nil, size)
    if status < 0 then
        return errors.fail(status)
    end
    return get_old and flags_of(old, size) or true
end

--- The CPU that this runs on; libuv 1.45 and later.
-- @treturn number from 1, as in the masks above; or nil, message and name of the error
function api.thread_getcpu()
    local cpu = C.uv_thread_getcpu()
    if cpu < 0 then
        return errors.fail(cpu)
    end
    return cpu + 1
end

--- A thread's priority; libuv 1.48 and later.
-- @tparam userdata thread
-- @treturn number; or nil, message and name of the error
function api.thread_getpriority(...)
    local priority = ffi.new "int[1]"
    local status = C.uv_thread_getpriority(thread.id(1, ...)[0], priority)
    if status < 0 then
        return errors.fail(status)
    end
    return priority[0]
end

--- Sets a thread's priority; libuv 1.48 and later.
-- @tparam userdata thread
-- @tparam number priority from -2 to 2
-- @treturn boolean true; or nil, message and name of the error
function api.thread_setpriority(...)
    return done(C.uv_thread_setpriority(thread.id(1, ...)[0], check.int(2, ...)))
end

--- A thread's name; libuv 1.50 and later.
-- @tparam userdata thread
-- @treturn string; or nil, message and name of the error
function api.thread_getname(...)
    local name = ffi.new("char[?]", NAME_SIZE)
    local status = C.uv_thread_getname(thread.id(1, ...), name, NAME_SIZE)
    if status < 0 then
        return errors.fail(status)
    end
    return (ffi.string(name))
end

--- Names this thread; libuv 1.50 and later.
-- @tparam string name the system keeps 15 bytes of it
-- @treturn number 0, or nil, message and name of the error
function api.thread_setname(...)
    return errors.result(C.uv_thread_setname(check.string(1, ...)))
end

return _M

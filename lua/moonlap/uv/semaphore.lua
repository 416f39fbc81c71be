--- Semaphores, which threads can share.
-- @module moonlap.uv.semaphore

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local message = require "moonlap.uv.message"

local _M = {}

ffi.cdef [[
typedef struct uvshim_sem uvshim_sem;
uvshim_sem *uvshim_sem_new(unsigned int value, int *status);
void uvshim_sem_hold(uvshim_sem *);
void uvshim_sem_drop(uvshim_sem *);
void uvshim_sem_post(uvshim_sem *);
void uvshim_sem_wait(uvshim_sem *);
int uvshim_sem_trywait(uvshim_sem *);
]]

local sem_ptr = ffi.typeof "uvshim_sem *"

-- The shim's semaphores by userdata.
local records = setmetatable({}, { __mode = "k" })
local template = newproxy(true)

local function new(sem)
    local userdata = newproxy(template)
    records[userdata] = ffi.gc(sem, C.uvshim_sem_drop)
    return userdata
end

local function check_sem(...)
    local userdata = ...
    return userdata ~= nil and records[userdata] or check.type_error(1, "uv_sem", ...)
end

local api = {}
_M.api = api

--- A semaphore, which threads and work may get as an argument.
-- @tparam[opt=0] number value from 0
-- @treturn userdata; or nil, message and name of the error
function api.new_sem(...)
    local value = check.opt_number(1, 0, ...)
    if value < 0 then
        check.argument_error(1, "value must be >= 0")
    end
    local status = ffi.new "int[1]"
    local sem = C.uvshim_sem_new(value, status)
    if sem == nil then
        return errors.fail(status[0])
    end
    return new(sem)
end

--- Adds one to a semaphore.
-- @tparam userdata sem
function api.sem_post(...)
    C.uvshim_sem_post(check_sem(...))
end

--- Takes one from a semaphore; blocks this thread until there is one.
-- @tparam userdata sem
function api.sem_wait(...)
    C.uvshim_sem_wait(check_sem(...))
end

--- Takes one if there is one.
-- @tparam userdata sem
-- @treturn boolean was there?
function api.sem_trywait(...)
    return C.uvshim_sem_trywait(check_sem(...)) ~= 0
end

local meta = getmetatable(template)
meta.__index = { post = api.sem_post, wait = api.sem_wait, trywait = api.sem_trywait }
meta.__tostring = function(userdata)
    return ("uv_sem_t: %p"):format(userdata)
end

message.kinds.S = {
    to = function(userdata)
        local sem = records[userdata]
        return sem and (tonumber(ffi.cast("uintptr_t", sem)))
    end,
    hold = function(number)
        C.uvshim_sem_hold(ffi.cast(sem_ptr, ffi.cast("uintptr_t", number)))
    end,
    from = function(number)
        local sem = ffi.cast(sem_ptr, ffi.cast("uintptr_t", number))
        C.uvshim_sem_hold(sem)
        return new(sem)
    end,
}

return _M

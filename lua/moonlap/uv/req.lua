--- Requests: what is asked of libuv once and ends once.
--
-- A module starts a request in three steps. Here for fs_stat with a callback:
--
--     local r, ptr = req.new("fs", callback, decode)        -- id, memory, record
--     local status = C.uv_fs_stat(loop, ptr, path, on_fs)   -- on_fs = queue.callback "fs"
--     if status < 0 then
--         return req.abandon(r, status)                     -- never started: no callback comes
--     end
--     return req.userdata(r)                                -- what the user may cancel
--
-- When it ends, the dispatcher calls `decode(r, status)`; what that returns are the callback's
-- arguments. Then the memory is freed, and the callback called. `decode` reads the result through
-- `r.ptr` and cleans up what libuv allocated (uv_fs_req_cleanup, uv_freeaddrinfo); it must not
-- raise errors. What libuv reads or writes while the request runs has to be anchored in a field
-- of `r`: `anchor`, `how`, `a` to `d` are for the module; `r` itself is anchored until then.
--
-- A record is used again for the next request, so a program that makes many leaves little to the
-- collector: the userdata, which holds the record's id and the request's type, and is the record's
-- own as long as the request runs.
-- @module moonlap.uv.req

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local queue = require "moonlap.uv.queue"
local errors = require "moonlap.uv.errors"
local check = require "moonlap.uv.check"
local userdatas = require "moonlap.uv.userdata"

local _M = {}

local floor, max = math.floor, math.max
local getmetatable = debug.getmetatable
local number_of, set_number = userdatas.number, userdatas.set_number

local q = queue.q

ffi.cdef [[
int uv_cancel(uv_req_t *);
]]

-- uv_req_type and the type of the pointer, by luv's names.
local TYPES = {
    connect = { 2, ffi.typeof "uv_connect_t *" },
    write = { 3, ffi.typeof "uv_write_t *" },
    shutdown = { 4, ffi.typeof "uv_shutdown_t *" },
    udp_send = { 5, ffi.typeof "uv_udp_send_t *" },
    fs = { 6, ffi.typeof "uv_fs_t *" },
    getaddrinfo = { 8, ffi.typeof "uv_getaddrinfo_t *" },
    getnameinfo = { 9, ffi.typeof "uv_getnameinfo_t *" },
    random = { 10, ffi.typeof "uv_random_t *" },
}

-- libuv can cancel these.
local IN_POOL = { fs = true, getaddrinfo = true, getnameinfo = true, random = true }

-- All records by id; those that are free.
local records, free = {}, {}
local newest, n_free = 0, 0

--- How many requests are under way.
_M.count = 0

local req_ptr = ffi.typeof "uv_req_t *"

-- Seldom, so whoever makes a request is not compiled along this way.
local function new_record()
    newest = newest + 1
    local r = {
        id = newest, kind = false, ptr = false, callback = false, decode = false,
        userdata = false, anchor = false, a = false, b = false, c = false, d = false, how = false,
    }
    records[newest] = r
    return r
end

jit.off(new_record)

--- Memory and a record for a request.
-- @tparam string kind as in luv: `fs`, `write`, `getaddrinfo`, …
-- @param callback what is called when it ends; false or nil for nothing
-- @tparam function decode `decode(r, status)` returns the callback's arguments
-- @treturn table r: fields `ptr`, `callback`, `decode`, and those for the caller
-- @return cdata the pointer, of libuv's type for that kind
function _M.new(kind, callback, decode)
    q.quiet = 0
    local n, types = n_free, TYPES[kind]
    n_free = max(0, n - 1) -- in this order: see moonlap.uv.timer_records
    local r = free[n]
    free[n] = false
    r = r or new_record()
    local memory = C.uvshim_req(q, types[1], r.id)
    if memory == nil then
        n = n_free + 1
        n_free = n
        free[n] = r
        check.misuse(require("moonlap.uv.shimless").reason or "not enough memory")
    end
    local ptr = ffi.cast(types[2], memory)
    r.kind, r.ptr, r.callback, r.decode = kind, ptr, callback or false, decode
    _M.count = _M.count + 1
    return r, ptr
end

--- Frees a request that was not started or has ended.
function _M.drop(r)
    C.uvshim_free(q, r.ptr)
    r.ptr, r.callback, r.userdata, r.anchor = false, false, false, false
    r.a, r.b, r.c, r.d = false, false, false, false
    _M.count = _M.count - 1
    local n = n_free + 1
    n_free = n
    free[n] = r
end

--- Forgets a request that libuv refused to start.
-- @treturn nil
-- @treturn string libuv's error
-- @treturn string its name
function _M.abandon(r, status)
    _M.drop(r)
    return errors.fail(status)
end

--- The `decode` of a request that has nothing but its status to tell.
-- @treturn string|nil the error's name
function _M.status(_, status)
    return errors.status(status)
end

local function after(r, ...)
    local callback = r.callback
    _M.drop(r)
    return callback, ...
end

--- Ends a request: its record's dispatch.
function _M.ended(id, result)
    local r = records[id]
    return after(r, r.decode(r, result))
end

jit.off(after)
jit.off(_M.ended)

queue.on[queue.KIND.req] = _M.ended

-- -- userdata -----------------------------------------------------------------------------------

-- A userdata's number is its record's id, times this, and the request's type.
local TYPE = 16
local KINDS = {}
for kind, types in pairs(TYPES) do
    KINDS[types[1]] = kind
end

local metatable, make = userdatas.kind()
local LOT = 64 -- made at once
local ready, n_ready = {}, 0

local new_userdata

-- Not compiled: whoever comes here is not compiled along this way, which he seldom goes.
local function make_one(number)
    local made = make(LOT)
    for i = 1, LOT do
        local n = n_ready + 1
        n_ready = n
        ready[n] = made[i]
    end
    return (new_userdata(number))
end

jit.off(make_one)

function new_userdata(number)
    local n = n_ready
    n_ready = max(0, n - 1)
    local userdata = ready[n]
    ready[n] = false
    if not userdata then
        return make_one(number)
    end
    set_number(userdata, number)
    return userdata
end

--- Is it a request?
-- @param userdata anything
-- @treturn boolean
function _M.is(userdata)
    return getmetatable(userdata) == metatable
end

-- The record, nil when the request has ended; and its kind.
local function check_req(userdata)
    if not _M.is(userdata) then
        check.type_error(1, "uv_req", userdata)
    end
    local number = number_of(userdata)
    local r = records[floor(number / TYPE)]
    return r and r.userdata == userdata and r or nil, KINDS[number % TYPE]
end

--- The userdata of a request that was started.
-- @treturn userdata
function _M.userdata(r)
    local userdata = new_userdata(r.id * TYPE + TYPES[r.kind][1])
    r.userdata = userdata
    return userdata
end

--- The userdata of a request that needed no libuv: nothing is left to come.
-- @tparam string kind
-- @treturn userdata
function _M.complete(kind)
    return (new_userdata(TYPES[kind][1]))
end

--- luv's functions for requests.
local api = {}
_M.api = api

--- Cancels a request of the thread pool, whose callback gets `ECANCELED`.
-- @tparam userdata req
-- @treturn number 0, or nil and an error: `EBUSY` when it has begun
function api.cancel(userdata)
    local r, kind = check_req(userdata)
    if not IN_POOL[kind] then
        return errors.fail(errors.api.errno.EINVAL)
    end
    if not r then
        return errors.fail(errors.api.errno.EBUSY)
    end
    return errors.result(C.uv_cancel(ffi.cast(req_ptr, r.ptr)))
end

--- A request's type.
-- @tparam userdata req
-- @treturn string name
-- @treturn number uv_req_type
function api.req_get_type(userdata)
    local _, kind = check_req(userdata)
    return kind, TYPES[kind][1]
end

metatable.__index = { cancel = api.cancel, get_type = api.req_get_type }

function metatable.__tostring(userdata)
    local _, kind = check_req(userdata)
    return ("uv_%s_t: %p"):format(kind, userdata)
end

return _M

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
-- of `r`, such as `r.anchor`; `r` itself is anchored until then.
-- @module moonlap.uv.req

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local queue = require "moonlap.uv.queue"
local errors = require "moonlap.uv.errors"
local check = require "moonlap.uv.check"
local userdata_of = require("moonlap.uv.userdata").of

local _M = {}

local type, getmetatable, new_userdata = type, getmetatable, userdata_of

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

-- Requests under way, by id; the ids that are free again.
local running, free_ids = {}, {}
local newest, n_free = 0, 0

--- How many requests are under way.
_M.count = 0

local req_ptr = ffi.typeof "uv_req_t *"

--- Memory, id and record for a request.
-- @tparam string kind as in luv: `fs`, `write`, `getaddrinfo`, …
-- @param callback what is called when it ends; false or nil for nothing
-- @tparam function decode `decode(r, status)` returns the callback's arguments
-- @treturn table r: fields `ptr`, `callback`, `decode`; the caller may add its own
-- @return cdata the pointer, of libuv's type for that kind
function _M.new(kind, callback, decode)
    q.quiet = 0
    local id
    if n_free > 0 then
        id = free_ids[n_free]
        n_free = n_free - 1
    else
        newest = newest + 1
        id = newest
    end
    local types = TYPES[kind]
    local memory = C.uvshim_req(q, types[1], id)
    if memory == nil then
        n_free = n_free + 1
        free_ids[n_free] = id
        check.misuse(require("moonlap.uv.shimless").reason or "not enough memory")
    end
    local ptr = ffi.cast(types[2], memory)
    local r = {
        id = id, kind = kind, ptr = ptr, callback = callback or false, decode = decode,
        anchor = false, __index = false, __tostring = false,
    } -- one field more, and the table were twice as large
    running[id] = r
    _M.count = _M.count + 1
    return r, ptr
end

--- Frees a request that was not started or has ended.
function _M.drop(r)
    local id = r.id
    running[id] = nil
    n_free = n_free + 1
    free_ids[n_free] = id
    _M.count = _M.count - 1
    C.uvshim_free(q, r.ptr)
    r.ptr = false
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
    _M.drop(r)
    return r.callback, ...
end

--- Ends a request: its record's dispatch.
function _M.ended(id, result)
    local r = running[id]
    return after(r, r.decode(r, result))
end

jit.off(after)
jit.off(_M.ended)

queue.on[queue.KIND.req] = _M.ended

--- The record of a request that a user holds.
-- @param userdata anything
-- @treturn table|nil nil when it is no request
function _M.record(userdata)
    local r = type(userdata) == "userdata" and getmetatable(userdata)
    return type(r) == "table" and TYPES[r.kind or false] and r or nil
end

local function check_req(userdata)
    return _M.record(userdata) or check.type_error(1, "uv_req", userdata)
end

local methods = {}

local function to_string(userdata)
    return ("uv_%s_t: %p"):format(getmetatable(userdata).kind, userdata)
end

--- The userdata of a request that was started: as with handles, the record is its metatable.
-- @treturn userdata
function _M.userdata(r)
    r.__index, r.__tostring = methods, to_string
    return (new_userdata(r))
end

--- The userdata of a request that needed no libuv: nothing is left to come.
-- @tparam string kind
-- @treturn userdata
function _M.complete(kind)
    return _M.userdata { kind = kind, ptr = false }
end

--- luv's functions for requests.
local api = {}
_M.api = api

--- Cancels a request of the thread pool, whose callback gets `ECANCELED`.
-- @tparam userdata req
-- @treturn number 0, or nil and an error: `EBUSY` when it has begun
function api.cancel(userdata)
    local r = check_req(userdata)
    if not IN_POOL[r.kind] then
        return errors.fail(errors.api.errno.EINVAL)
    end
    if not r.ptr then
        return errors.fail(errors.api.errno.EBUSY)
    end
    return errors.result(C.uv_cancel(ffi.cast(req_ptr, r.ptr)))
end

--- A request's type.
-- @tparam userdata req
-- @treturn string name
-- @treturn number uv_req_type
function api.req_get_type(userdata)
    local r = check_req(userdata)
    return r.kind, TYPES[r.kind][1]
end

methods.cancel, methods.get_type = api.cancel, api.req_get_type

return _M

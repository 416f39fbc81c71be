--- How every function of `uv.fs_*` runs: at once, or in libuv's threads when it got a callback.
--
-- Both ways share what a function needs: `call(req, on_done, a, b, c, d)` hands the request to
-- libuv with up to four arguments, and `result(req, a, b, c, d)` reads a success out of it. Where
-- luv's function takes what libuv's takes, `define` makes it of a name and the arguments' checks.
-- @module moonlap.uv.fs_request
local ffi = require "ffi"
local check = require "moonlap.uv.check"
local own = require("moonlap.uv.dispatch").own
local errors = require "moonlap.uv.errors"
local queue = require "moonlap.uv.queue"
local requests = require "moonlap.uv.req"
local C = require "moonlap.uv.ffi"

local _M = {}

local tonumber, loop = tonumber, queue.loop

ffi.cdef [[
size_t uv_req_size(int type);
ptrdiff_t uv_fs_get_result(const void *req);
const char *uv_fs_get_path(const void *req);
void uv_fs_req_cleanup(void *req);
]]

local UV_FS = 6

--- The size of an uv_fs_t in 64-bit words.
_M.WORDS = math.ceil(tonumber(C.uv_req_size(UV_FS)) / 8)

local req_t = ffi.typeof(("struct { uint64_t words[%d]; }"):format(_M.WORDS))
local on_fs = queue.callback "fs"

-- Requests for synchronous calls, to be used again. More than one, because a finalizer may run
-- between libuv's answer and the table made of it, and call here as well.
local idle, idle_count = {}, 0


local function take()
    if idle_count == 0 then
        return req_t()
    end
    local req = idle[idle_count]
    idle_count = idle_count - 1
    return req
end


local function give_back(req)
    C.uv_fs_req_cleanup(req)
    idle_count = idle_count + 1
    idle[idle_count] = req
end


--- What libuv says of a finished request.
-- @param req the uv_fs_t
-- @treturn number bytes, a descriptor or 0; below 0 an error
function _M.outcome(req)
    return (tonumber(C.uv_fs_get_result(req)))
end


--- The `result` of a function that says true.
-- @treturn boolean true
function _M.done()
    return true
end


-- The error's code, and what it is about in luv's words. A call refused for its arguments
-- leaves no result.
local function failure(req, code, destination)
    local outcome = _M.outcome(req)
    local path = C.uv_fs_get_path(req)
    local about = path ~= nil and ffi.string(path) or nil
    if about and destination then
        about = about .. " -> " .. destination
    end
    return outcome < 0 and outcome or code, about
end


-- Callbacks get an error's text alone, or nil and the results, of which there are at most three.
-- Without varargs, which begin no trace.
local function decode(request, status)
    local req, how = request.ptr, request.how
    if status < 0 and not how.always then
        local text = errors.describe(failure(req, status, how.two_paths and request.b))
        C.uv_fs_req_cleanup(req)
        return text
    end
    local x, y, z = how.result(req, request.a, request.b, request.c, request.d)
    C.uv_fs_req_cleanup(req)
    if z ~= nil then
        return nil, x, y, z
    elseif y ~= nil then
        return nil, x, y
    end
    return nil, x
end


-- Runs a file system request: `run` of each `how`.
-- @param callback what is called with `err, results…`; nil to wait for it here
-- @tparam table how as for `prepare`
-- @param a,b,c,d what `call` gets; kept until the request has ended
-- @param keep what has to be kept as well
-- @return what `result` returns; the request when there is a callback
-- @treturn[2] nil
-- @treturn[2] string what went wrong, on which path
-- @treturn[2] string the error's name
local function run(callback, how, a, b, c, d, keep)
    if not callback then
        if how.now then
            local answer, err, name = how.now(a)
            if answer then
                return answer
            elseif err then
                return nil, err, name
            end
        end
        local req = take()
        local code = how.call(req, nil, a, b, c, d)
        if code < 0 and not how.always then
            local fault, about = failure(req, code, how.two_paths and b)
            give_back(req)
            return errors.fail(fault, about)
        end
        local x, y, z = how.result(req, a, b, c, d)
        give_back(req)
        if z ~= nil then
            return x, y, z
        elseif y ~= nil then
            return x, y
        end
        return x
    end

    local request, req = requests.new("fs", callback, how.decode)
    request.a, request.b, request.c, request.d = a, b, c, d
    request.anchor, request.how = keep, how
    local code = how.call(req, on_fs, a, b, c, d)
    if code < 0 then
        local fault, about = failure(req, code, how.two_paths and b)
        C.uv_fs_req_cleanup(req)
        requests.drop(request)
        return errors.fail(fault, about)
    end
    return requests.userdata(request)
end


--- Makes a way to do requests ready, with `run(callback, how, a, b, c, d, keep)`.
-- @tparam table how `call` and `result` as above; `two_paths`: b is a path and belongs into
-- error texts; `always`: a failure is a result too; `now(a)`: the result or a failure without a
-- request, or nothing
-- @treturn table how
function _M.prepare(how)
    how.run, how.decode = own(run), own(decode)
    return how
end


-- A call of libuv's function of that name. This and DEFINED are written out for each number of
-- arguments, because LuaJIT compiles neither `unpack` nor `select` at a position that varies. The
-- name is looked up with every call, which is free in compiled code: a libuv may lack it. The
-- parentheses keep it from a tail call, in which no trace ends.
local CALLS = {
    function(name)
        return function(req, on_done, a)
            return (C[name](loop, req, a, on_done))
        end
    end,
    function(name)
        return function(req, on_done, a, b)
            return (C[name](loop, req, a, b, on_done))
        end
    end,
    function(name)
        return function(req, on_done, a, b, c)
            return (C[name](loop, req, a, b, c, on_done))
        end
    end,
    function(name)
        return function(req, on_done, a, b, c, d)
            return (C[name](loop, req, a, b, c, d, on_done))
        end
    end,
}


--- The `call` of a libuv function that takes the users' arguments as they are.
-- @tparam string name of libuv's function
-- @tparam number count of the arguments, 1 to 4
-- @treturn function
function _M.call(name, count)
    return own(CALLS[count](name))
end


-- luv's functions by the number of arguments, before the callback.
local DEFINED = {
    function(how, check_a)
        return function(...)
            local a = check_a(1, ...)
            return how.run(check.opt_callback(2, ...), how, a)
        end
    end,
    function(how, check_a, check_b)
        return function(...)
            local a, b = check_a(1, ...), check_b(2, ...)
            return how.run(check.opt_callback(3, ...), how, a, b)
        end
    end,
    function(how, check_a, check_b, check_c)
        return function(...)
            local a, b, c = check_a(1, ...), check_b(2, ...), check_c(3, ...)
            return how.run(check.opt_callback(4, ...), how, a, b, c)
        end
    end,
    function(how, check_a, check_b, check_c, check_d)
        return function(...)
            local a, b, c, d = check_a(1, ...), check_b(2, ...), check_c(3, ...), check_d(4, ...)
            return how.run(check.opt_callback(5, ...), how, a, b, c, d)
        end
    end,
}


--- Makes a function of `uv.fs_*` that takes what libuv's takes: arguments, then the callback.
-- @tparam string name of libuv's function
-- @tparam table checks of its arguments, 1 to 4: functions as in `moonlap.uv.check`
-- @tparam table how as for `prepare`, without `call`
-- @treturn function
function _M.define(name, checks, how)
    how.call = _M.call(name, #checks)
    return own(DEFINED[#checks](_M.prepare(how), unpack(checks)))
end


return _M

--- Requests without a callback inside `uv.go`, which park the coroutine.
--
-- There, a function of luv's that takes a callback and is called without one parks the coroutine
-- until its request has ended, and then returns what the callback would have got: the results (0
-- when there are none); or nil, the error and its name. This file knows which argument is the
-- callback, and wraps those functions; they cost one comparison more everywhere else. What starts
-- a handle (a timer, a server, a reader, a child process) returns at once as ever.
-- @module moonlap.uv.parking

local check = require "moonlap.uv.check"

local _M = {}

local running, resume, yield = coroutine.running, coroutine.resume, coroutine.yield
local max, select, type, unpack = math.max, select, type, unpack

-- Where the callback stands among the arguments.
local CALLBACK_AT = {
    fs_close = 2, fs_open = 4, fs_read = 4, fs_unlink = 2, fs_write = 4, fs_mkdir = 3,
    fs_mkdtemp = 2, fs_mkstemp = 2, fs_rmdir = 2, fs_scandir = 2, fs_stat = 2, fs_fstat = 2,
    fs_lstat = 2, fs_rename = 3, fs_fsync = 2, fs_fdatasync = 2, fs_ftruncate = 3,
    fs_sendfile = 5, fs_access = 3, fs_chmod = 3, fs_fchmod = 3, fs_utime = 4, fs_futime = 4,
    fs_lutime = 4, fs_link = 3, fs_symlink = 4, fs_readlink = 2, fs_realpath = 2, fs_chown = 4,
    fs_fchown = 4, fs_lchown = 4, fs_copyfile = 4, fs_opendir = 2, fs_readdir = 2,
    fs_closedir = 2, fs_statfs = 2, getaddrinfo = 4, getnameinfo = 2, random = 3,
    write = 3, write2 = 4, shutdown = 2, tcp_connect = 4, pipe_connect = 3, pipe_connect2 = 4,
    udp_send = 5,
}

-- The coroutine of ours that runs now, or false.
local current = false

local function resumed(co, before, ok, ...)
    current = before
    if not ok then
        error(debug.traceback(co, tostring((...))), 0)
    end
end

--- Runs a coroutine up to where it parks or ends; an error in it is raised here.
-- @tparam thread co
-- @param ... its arguments
function _M.continue(co, ...)
    local before = current
    current = co
    resumed(co, before, resume(co, ...))
end

local function results(err, ...)
    if err then
        return nil, err, err:match "^[%u%d_]+" or err
    elseif select("#", ...) == 0 then
        return 0
    end
    return ...
end

--- Calls `start(callback)` and waits for the callback; or returns what `start` returned when that
-- was a failure.
-- @tparam function start
-- @tparam function finish turns what the callback got into results
-- @return the results
function _M.park(start, finish)
    local co = current
    local got
    local ok, err, name = start(function(...)
        got = { n = select("#", ...), ... }
        if coroutine.status(co) == "suspended" then
            _M.continue(co)
        end
    end)
    if not ok then
        return nil, err, name
    end
    if not got then
        current = false
        yield()
    end
    return finish(unpack(got, 1, got.n))
end

local function is_callback(value)
    return type(value) == "function" or check.is_callable(value)
end

-- It is the last argument; but of fs_opendir the one before the last.
local function has_callback(position, ...)
    return is_callback((select(-1, ...))) or is_callback((select(position, ...)))
end

-- A finalizer runs in whatever coroutine there is, and cannot wait.
local can_yield = coroutine.isyieldable or function() return true end

local function call_and_park(fn, position, ...)
    if not can_yield() then
        return fn(...)
    end
    local args, n = { ... }, max(position, select("#", ...))
    return _M.park(function(callback)
        args[position] = callback
        return fn(unpack(args, 1, n))
    end, results)
end

-- What they make and call is not compiled, either, and would be tried for each coroutine.
jit.off(_M.park, true)
jit.off(call_and_park, true)

-- The function that parks where it may, and else is the one it wraps. It makes no closure itself:
-- LuaJIT does not compile a function that does.
local function parking(fn, position)
    return function(...)
        if not current or current ~= running()
            or (select("#", ...) > 0 and has_callback(position, ...)) then
            return fn(...)
        end
        return call_and_park(fn, position, ...)
    end
end

--- Raises an error outside of `uv.go`.
function _M.check_running()
    if not current or current ~= running() then
        check.misuse "this needs a coroutine: call it inside uv.go"
    end
end

--- The function that parks where it may; the same one where there is no callback to leave out.
-- @tparam function fn
-- @tparam string|nil name luv's, if it has one
-- @treturn function
function _M.wrap(fn, name)
    local position = CALLBACK_AT[name]
    return position and parking(fn, position) or fn
end

return _M

--- What happens when a callback raises an error.
-- @module moonlap.uv.fault

local _M = {}

local traceback = debug.traceback

-- luv's: to stderr, and the process ends.
local function die(err)
    io.stderr:write("Uncaught Error: ", type(err) == "string" and err or "(null)", "\n")
    os.exit(-1)
end

local handler = die
local fatal, is_fatal

-- LuaJIT puts the caller's position before an error in a function of coroutine.wrap. That is ours.
local HERE = debug.getinfo(1, "S").short_src:match "^(.*[/\\])[^/\\]*$"

local function without_position(err)
    if HERE and err:sub(1, #HERE) == HERE then
        return (err:sub(#HERE + 1):gsub("^[%w_]+%.lua:%d+: ", "", 1))
    end
    return err
end

--- The message handler under which callbacks run: what is told of an error. It does no more, since
-- the stack may be full, and is not called when memory runs out.
-- @param err
-- @return the error, with a traceback if it is a string
function _M.describe(err)
    if type(err) == "string" then
        err = traceback(without_position(err), 2)
    end
    return err
end

--- Tells the error handler of an error that has ended a callback.
-- @param err what `xpcall` has returned
function _M.handle(err)
    if err == "not enough memory" and handler == die then
        io.stderr:write("System Error: not enough memory\n")
        os.exit(-1)
    end
    local ok, again = pcall(handler, err)
    if not ok then
        fatal, is_fatal = again, true
    end
end

--- Raises the error that the error handler itself has raised, if it has.
-- @treturn boolean always false
function _M.raise()
    if is_fatal then
        local err = fatal
        fatal, is_fatal = nil, false
        error(err, 0)
    end
    return false
end

--- Has the error handler raised an error?
-- @treturn boolean
function _M.is_fatal()
    return is_fatal
end

local api = {}
_M.api = api

--- Sets what is called when a callback raises an error; luv has no such function. The loop goes on,
-- unless the handler raises an error, with which `uv.run` then ends. Without a handler the error
-- goes to stderr and the process exits with 255.
-- @tparam[opt] function callback of the error, with a traceback if it is a string
function api.set_error_handler(callback)
    if callback ~= nil and type(callback) ~= "function" then
        error("bad argument #1 to 'set_error_handler' (function expected)", 2)
    end
    handler = callback or die
end

return _M

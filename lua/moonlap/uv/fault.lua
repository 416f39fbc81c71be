--- What happens when a callback raises an error.
-- @module moonlap.uv.fault

local barrier = require "moonlap.uv.barrier"

local _M = {}

local getinfo, traceback = debug.getinfo, debug.traceback

-- luv's: to stderr, and the process ends.
local function die(err)
    io.stderr:write("Uncaught Error: ", type(err) == "string" and err or "(null)", "\n")
    os.exit(-1)
end

local handler = die
local fatal, is_fatal

-- Does it begin with a position in this library?
local OURS = "^[^\n]-moonlap[/\\]uv[/\\][%w_]+%.lua:%d+: "

-- The level of the first frame from `level` on of which `is` says yes.
local function find(level, is)
    local info = getinfo(level + 1, "Slf")
    while info and not is(info) do
        level = level + 1
        info = getinfo(level + 1, "Slf")
    end
    return info and level
end

-- What `error` puts before a text is the position of a caller. Where that is this library, luv has
-- the function of C `uv.run`, which has no position, and what LuaJIT calls its caller's caller is
-- there the line of the program that called `uv.run`.
local function with_position(err)
    local position, text = err:match "^(.-:%d+): (.*)$"
    local ours = find(3, function(info)
        return info.source:find "^@.*moonlap[/\\]uv[/\\][%w_]+%.lua$" ~= nil
    end)
    local blamed = ours and find(ours, function(info)
        return info.short_src .. ":" .. info.currentline == position
    end)
    local run = blamed and blamed > ours and find(blamed, function(info)
        return barrier.is(info.func)
    end)
    local caller = run and getinfo(run + blamed - ours, "Sl")
    if caller and caller.currentline >= 0 then
        return ("%s:%d: %s"):format(caller.short_src, caller.currentline, text)
    end
    return text
end

--- The message handler under which callbacks run: what is told of an error. It does no more, since
-- the stack may be full, and is not called when memory runs out.
-- @param err
-- @return the error, with a traceback if it is a string
function _M.describe(err)
    if type(err) == "string" then
        if err:find(OURS) then
            err = with_position(err)
        end
        err = traceback(err, 2)
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

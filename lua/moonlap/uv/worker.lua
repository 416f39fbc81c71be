--- What runs in the Lua states of threads and of the thread pool, which csrc/uvshim/state.c makes.
-- @module moonlap.uv.worker

local fault = require "moonlap.uv.fault"
local message = require "moonlap.uv.message"

local _M = {}

local xpcall, traceback = xpcall, debug.traceback

local function complain(text)
    io.stderr:write(text, "\n")
end

local function in_thread(code, ...)
    local entry, err = loadstring(code, "=thread")
    if not entry then
        return complain("Uncaught Error in thread: " .. err)
    end
    local ok, failure = xpcall(entry, fault.describe, ...)
    if not ok then
        fault.handle(failure)
    end
end

--- Runs a thread.
-- @tparam string text a message: the code and its arguments
function _M.run(text)
    in_thread(message.decode(text))
end

-- -- for the pool: csrc/uvshim/work.c calls these -----------------------------------------------

--- Functions by their code: the same work usually comes many times.
_M.loaded = setmetatable({}, { __mode = "v" })

--- Loads one, or says why not.
-- @tparam string code
-- @treturn function|nil
function _M.load(code)
    local entry, err = loadstring(code, "=pool")
    if not entry then
        return complain("Uncaught Error in work callback: " .. err)
    end
    _M.loaded[code] = entry
    return entry
end

--- The message handler for work.
-- @param err
function _M.report(err)
    complain("Uncaught Error: " .. (type(err) == "string" and traceback(err, 2) or "(null)"))
end

--- What work has returned, as a message, where C cannot make it: up to the first value that cannot
-- go to another state.
-- @param ... values
-- @treturn string
function _M.results(...)
    local text, err, good = message.encode(0, ...)
    if not text then
        complain("Uncaught Error: " .. err)
        text = message.encode(0, unpack({ ... }, 1, good))
    end
    return text
end

_M.decode = message.decode

--- The source that makes a fresh state ready and returns this module: with this one's search paths,
-- and with this library as `luv`, as every thread of luv has it.
-- @treturn string
function _M.boot()
    return ([[
        package.path, package.cpath = %q, %q
        _THREAD = true
        package.preload.luv = function() return require "moonlap.uv" end
        return require "moonlap.uv.worker"
    ]]):format(package.path, package.cpath)
end

return _M

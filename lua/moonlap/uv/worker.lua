--- What runs in the Lua states of threads and of the thread pool, which csrc/uvshim/thread.c makes.
-- @module moonlap.uv.worker

local fault = require "moonlap.uv.fault"
local message = require "moonlap.uv.message"

local _M = {}

local xpcall, traceback = xpcall, debug.traceback

-- Functions for the pool, by their code: the same work usually comes many times.
local loaded = setmetatable({}, { __mode = "v" })

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

local function report(err)
    complain("Uncaught Error: " .. (type(err) == "string" and traceback(err, 2) or "(null)"))
end

local function results(ok, ...)
    if not ok then
        return nil
    end
    local text, err, good = message.encode(0, ...)
    if not text then
        complain("Uncaught Error: " .. err)
        text = message.encode(0, unpack({ ... }, 1, good))
    end
    return text
end

local function in_pool(code, ...)
    local entry = loaded[code]
    if not entry then
        local err
        entry, err = loadstring(code, "=pool")
        if not entry then
            return complain("Uncaught Error in work callback: " .. err)
        end
        loaded[code] = entry
    end
    return results(xpcall(entry, report, ...))
end

local function dispatch(where, ...)
    if where == "pool" then
        return in_pool(...)
    end
    return in_thread(...)
end

--- Runs what a message asks for: `thread` or `pool`, the code, its arguments.
-- @tparam string text
-- @treturn string|nil the results of work, as a message
function _M.run(text)
    return dispatch(message.decode(text))
end

--- The source that makes a fresh state ready and returns `run`: with this one's search paths,
-- and with this library as `luv`, as every thread of luv has it.
-- @treturn string
function _M.boot()
    return ([[
        package.path, package.cpath = %q, %q
        _THREAD = true
        package.preload.luv = function() return require "moonlap.uv" end
        return require("moonlap.uv.worker").run
    ]]):format(package.path, package.cpath)
end

return _M

--- Coroutines instead of callbacks; an extension of luv's API.
--
--     uv.go(function()
--         local stat, err = uv.fs_stat "/etc/hosts"     -- another coroutine runs meanwhile
--         …
--     end)
--
-- How the functions wait is `moonlap.uv.parking`.
-- @module moonlap.uv.go

local check = require "moonlap.uv.check"
local parking = require "moonlap.uv.parking"
local reading = require "moonlap.uv.reading"
local timer = require "moonlap.uv.timer"

local _M = {}

local park, check_running = parking.park, parking.check_running

local api = {}
_M.api = api

--- Runs a function in a coroutine, up to its first wait; `uv.run` does the rest. In it, a request
-- that is made without its callback waits, and returns what the callback would have got: files,
-- names, random bytes, connecting, writing, sending, shutting down. What starts a handle (timer,
-- server, reader, child) returns at once. An error before the first wait is raised here, a later
-- one is like one in a callback.
-- @tparam function fn
-- @param ... its arguments
-- @treturn thread the coroutine
function api.go(fn, ...)
    if type(fn) ~= "function" then
        check.type_error(1, "function", fn)
    end
    local co = coroutine.create(fn)
    parking.continue(co, ...)
    return co
end

--- Inside `uv.go`: waits.
-- @tparam number ms
function api.wait(ms)
    check_running()
    local pause = timer.api.new_timer()
    park(function(callback)
        return timer.api.timer_start(pause, ms, 0, callback)
    end, function() end)
    pause:close()
end

--- Inside `uv.go`: waits for a stream's next bytes. Between two calls nothing is read.
-- @tparam userdata stream
-- @treturn string|nil the bytes, or nil at the end
-- @treturn string|nil the error's name
function api.read(userdata)
    check_running()
    return park(function(callback)
        return reading.api.read_start(userdata, function(...)
            reading.api.read_stop(userdata)
            callback(...)
        end)
    end, function(err, bytes)
        return bytes, err
    end)
end

return _M

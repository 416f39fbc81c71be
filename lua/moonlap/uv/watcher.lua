--- idle, prepare and check: handles that are called once a turn. They live in Lua altogether.
--
-- libuv puts a handle that starts at the head of its list, and one that starts while the list is
-- run waits for the next turn. Here the head is the array's end: it is run from the end that it
-- had downwards, and what is appended meanwhile lies beyond.
-- @module moonlap.uv.watcher

local check = require "moonlap.uv.check"
local dispatch = require "moonlap.uv.dispatch"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local loop = require "moonlap.uv.loop"

local _M = {}

local EINVAL = errors.api.errno.EINVAL

local new_record = handle.record_maker "list = false, position = 0, callback = false"

local function close_holes(list)
    local n, callbacks = 0, list.callbacks
    for i = 1, list.n do
        local h = list[i]
        list[i], callbacks[i] = nil, nil
        if h then
            n = n + 1
            list[n], callbacks[n], h.position = h, h.callback, n
        end
    end
    list.n = n
end

--- Calls every handle of a list that was started before. `list.at` is moved before each call, so
-- that the next run goes on behind a callback that failed.
function _M.run(list)
    local first = list.at
    if first < 0 then
        if list.n > list.active then
            close_holes(list)
        end
        first = list.n
    end
    local callbacks = list.callbacks
    for at = first, 1, -1 do
        list.at = at - 1
        local callback = callbacks[at]
        if callback then
            callback()
        end
    end
    list.at = -1
end

--- May every callback of a list be inlined? Asked of lists whose callbacks have been called often.
-- @tparam table list
-- @tparam table site as in `moonlap.uv.dispatch`
-- @treturn boolean
function _M.are_plain(list, site)
    for i = 1, list.n do
        local callback = list.callbacks[i]
        if callback and not dispatch.is_plain(site, callback) then
            return false
        end
    end
    return true
end

for _, fn in ipairs { close_holes, _M.run, _M.are_plain } do
    jit.off(fn)
end

local function stop(h)
    if h.position == 0 then
        return
    end
    local list = h.list
    list[h.position], list.callbacks[h.position] = false, false
    h.position = 0
    list.active = list.active - 1
    if h.referenced then
        loop.add_ref(-1)
    end
end

local function is_active(h)
    return h.position > 0
end

local api = {}
_M.api = api

local function define(name)
    -- `at`: the handle that is next in the turn, 0 when all were called, -1 between two turns.
    -- `changes`: how often a handle was started or got another callback.
    local list = { callbacks = {}, n = 0, at = -1, active = 0, changes = 0 }
    _M[name] = list
    local methods = {}
    local class = handle.class(name, methods, { stop = stop, is_active = is_active })

    api["new_" .. name] = function()
        local h = new_record()
        h.list = list
        return (handle.new(class, h))
    end

    function methods.start(userdata, callback)
        local h = handle.check(userdata, class)
        if type(callback) ~= "function" then
            check.callback(2, userdata, callback)
        end
        if h.position > 0 then
            h.callback, list.callbacks[h.position] = callback, callback
            list.changes = list.changes + 1
            return 0
        end
        if h.closing then
            return errors.fail(EINVAL)
        end
        h.callback = callback
        local n = list.n + 1
        list.n = n -- before the lists get longer: see moonlap.uv.timer_records
        list[n], list.callbacks[n], h.position = h, callback, n
        list.active, list.changes = list.active + 1, list.changes + 1
        if h.referenced then
            loop.add_ref(1)
        end
        return 0
    end

    function methods.stop(userdata)
        stop(handle.check(userdata, class))
        return 0
    end

    api[name .. "_start"], api[name .. "_stop"] = methods.start, methods.stop
end

--- Called in every turn before the poll, which then does not wait.
-- @function new_idle
-- @treturn userdata

--- Starts it, or changes its callback.
-- @function idle_start
-- @tparam userdata idle
-- @tparam function callback without arguments
-- @treturn number 0

--- Stops it.
-- @function idle_stop
-- @tparam userdata idle
-- @treturn number 0
define "idle"

--- Called in every turn right before the poll.
-- @function new_prepare
-- @treturn userdata

--- Starts it, or changes its callback.
-- @function prepare_start
-- @tparam userdata prepare
-- @tparam function callback without arguments
-- @treturn number 0

--- Stops it.
-- @function prepare_stop
-- @tparam userdata prepare
-- @treturn number 0
define "prepare"

--- Called in every turn right after the poll.
-- @function new_check
-- @treturn userdata

--- Starts it, or changes its callback.
-- @function check_start
-- @tparam userdata check
-- @tparam function callback without arguments
-- @treturn number 0

--- Stops it.
-- @function check_stop
-- @tparam userdata check
-- @treturn number 0
define "check"

return _M

--- Timers. They live in Lua altogether: libuv only wakes the loop when the first one is due.
--
-- A timer that is started while timers run waits for the next time they run (libuv from 1.48 on;
-- before, a timer of 0 ms that restarts itself kept the loop from ever polling).
-- @module moonlap.uv.timer

local check = require "moonlap.uv.check"
local closing = require "moonlap.uv.closing"
local dispatch = require "moonlap.uv.dispatch"
local due = require "moonlap.uv.due"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local loop = require "moonlap.uv.loop"
local timer_records = require "moonlap.uv.timer_records"

local _M = {}

local floor, max, min, type = math.floor, math.max, math.min, type
local getmetatable = debug.getmetatable
local EINVAL = errors.api.errno.EINVAL

local records, FIELD = timer_records.records, timer_records.FIELD
local CALLBACK, NEXT, PREVIOUS, DUE = FIELD.callback, FIELD.next, FIELD.previous, FIELD.due
local INTERVAL, REFS, HELD = FIELD.interval, FIELD.refs, FIELD.held
local CLOSED = timer_records.CLOSED

-- Beyond, milliseconds are not whole numbers any more; it is 285,000 years.
local FOREVER = 2 ^ 53

local file, first, first_time = due.file, due.first, due.time

local is_running = false

local function hold(at, refs)
    loop.refs = loop.refs - records[at + HELD] + refs
    records[at + HELD] = refs
end

local function stop(at)
    timer_records.unlink(at)
    hold(at, 0)
end

local function start(at, timeout)
    records[at + DUE] = min(loop.now() + timeout, FOREVER)
    due.start(at)
    hold(at, records[at + REFS])
end

local function is_active(at)
    return records[at + NEXT] ~= at and records[at + NEXT] ~= 0
end

-- -- running ------------------------------------------------------------------------------------

-- Takes the first timer out of a ring. libuv stops it, and starts it again when it repeats, before
-- the callback.
local function next_callback(ring)
    local at = records[ring + NEXT]
    if at == ring then
        return nil
    end
    stop(at)
    if records[at + INTERVAL] > 0 then
        start(at, records[at + INTERVAL])
    end
    return records[at + CALLBACK]
end

-- For large rings of timers whose callbacks LuaJIT compiles.
local function call_inlined(ring)
    if ring == 0 then
        return
    end
    while true do
        local callback = next_callback(ring)
        if not callback then
            return
        end
        callback()
    end
end

local site = dispatch.site(call_inlined)

-- `callback` is one of those that were called: as good as any to be looked at.
local function look_at(callback)
    dispatch.looked(site, dispatch.is_plain(site, callback))
end

local function call_each(ring)
    local callback, n, last = next_callback(ring), 0, nil
    while callback do
        callback()
        n, last = n + 1, callback
        callback = next_callback(ring)
    end
    if dispatch.is_time(site, n) and last then
        look_at(last)
    end
end

--- Calls every timer that is due. After an error in a callback the next run goes on behind it.
function _M.run()
    if not is_running then
        file()
    end
    is_running = true
    local ring, time = first()
    local now = ring and loop.now()
    while ring and time <= now do
        if site.is_proved and due.is_large(ring) then
            call_inlined(ring)
            dispatch.has_run(site, 128)
        else
            call_each(ring)
        end
        ring, time = first()
    end
    is_running = false
end

--- When the first timer is due.
-- @treturn number|nil ms on the loop's clock
function _M.next_due()
    if not is_running then
        file()
    end
    return first_time()
end

for _, fn in ipairs { look_at, call_each, _M.run, _M.next_due } do
    jit.off(fn)
end

-- -- luv's functions ----------------------------------------------------------------------------

local methods, own = {}, {}
local class = handle.class("timer", methods, { is_active = is_active })
local metatable = timer_records.metatable

metatable.__index, metatable.__tostring = methods, class.tostring
metatable.class, metatable.own = class, own

-- The place of a timer's record.
local function place(userdata)
    if getmetatable(userdata) ~= metatable then
        check.type_error(1, "uv_timer", userdata)
    end
    return timer_records.place(userdata)
end

local function whole(position, ...)
    local value = check.number(position, ...)
    if value < 0 then
        return FOREVER -- luv's uint64_t of a negative number
    end
    return (floor(value))
end

local api = {}
_M.api = api

--- A new timer.
-- @treturn userdata
function api.new_timer()
    local timer = timer_records.new(handle.number())
    if handle.traced then
        handle.made[timer] = check.caller()
    end
    return timer
end

--- Starts a timer.
-- @tparam userdata timer
-- @tparam number timeout ms until the first call; 0: the next time that timers run
-- @tparam number interval ms between further calls; 0: only one call
-- @tparam function callback without arguments
-- @treturn number 0
function api.timer_start(userdata, timeout, interval, callback)
    local at = place(userdata)
    timeout = whole(2, userdata, timeout, interval, callback)
    interval = whole(3, userdata, timeout, interval, callback)
    if type(callback) ~= "function" then
        check.callback(4, userdata, timeout, interval, callback)
    end
    if records[at + NEXT] == 0 then
        return errors.fail(EINVAL)
    end
    stop(at)
    records[at + CALLBACK], records[at + INTERVAL] = callback, interval
    start(at, timeout)
    return 0
end

--- Stops a timer.
-- @tparam userdata timer
-- @treturn number 0
function api.timer_stop(userdata)
    local at = place(userdata)
    if records[at + NEXT] ~= 0 then
        stop(at)
    end
    return 0
end

--- Starts a repeating timer anew with its interval.
-- @tparam userdata timer
-- @treturn number 0, or nil and `EINVAL` when it was never started
function api.timer_again(userdata)
    local at = place(userdata)
    if not records[at + CALLBACK] or records[at + NEXT] == 0 then
        return errors.fail(EINVAL)
    end
    if records[at + INTERVAL] > 0 then
        stop(at)
        start(at, records[at + INTERVAL])
    end
    return 0
end

--- Sets the interval, from its next start or firing on.
-- @tparam userdata timer
-- @tparam number interval ms
function api.timer_set_repeat(userdata, interval)
    local at = place(userdata)
    interval = whole(2, userdata, interval)
    if at ~= CLOSED then
        records[at + INTERVAL] = interval
    end
end

--- The interval.
-- @tparam userdata timer
-- @treturn number ms, 0 when it does not repeat
function api.timer_get_repeat(userdata)
    return records[place(userdata) + INTERVAL]
end

--- How long until it fires, or would have fired.
-- @tparam userdata timer
-- @treturn number ms; 0 when due, never started or closed
function api.timer_get_due_in(userdata)
    return (max(0, records[place(userdata) + DUE] - loop.now()))
end

-- -- what all handles can do, as timers do it ----------------------------------------------------

function own.is_active(userdata)
    return is_active(place(userdata))
end

function own.is_closing(userdata)
    return records[place(userdata) + NEXT] == 0
end

function own.close(userdata, callback)
    local at = place(userdata)
    if records[at + NEXT] == 0 then
        check.misuse(("handle %p is already closing"):format(userdata))
    end
    if callback ~= nil and type(callback) ~= "function" then
        check.callback(2, userdata, callback)
    end
    stop(at)
    records[at + CALLBACK] = callback or false
    records[at + NEXT], records[at + PREVIOUS] = 0, 0
    closing.close_timer(at)
end

local function set_refs(at, refs)
    if at ~= CLOSED then
        records[at + REFS] = refs
        hold(at, is_active(at) and refs or 0)
    end
end

function own.ref(userdata)
    set_refs(place(userdata), 1)
end

function own.unref(userdata)
    set_refs(place(userdata), 0)
end

function own.has_ref(userdata)
    return records[place(userdata) + REFS] == 1
end

for name, fn in pairs(own) do
    methods[name] = fn
end
for _, name in ipairs { "start", "stop", "again", "set_repeat", "get_repeat", "get_due_in" } do
    methods[name] = api["timer_" .. name]
end

-- Timers count from the clock's last reading, which was before all this was loaded.
loop.stale = true

return _M

--- Timers. They live in Lua altogether: libuv only wakes the loop when the first one is due.
--
-- Timers that are due in the same millisecond stand in one bucket in the order in which they were
-- started, which is libuv's order too; a binary heap holds the distinct due times only. A timer
-- that is started while timers run waits for the next time they run (libuv from 1.48 on; before, a
-- timer of 0 ms that restarts itself kept the loop from ever polling).
-- @module moonlap.uv.timer

local check = require "moonlap.uv.check"
local dispatch = require "moonlap.uv.dispatch"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local loop = require "moonlap.uv.loop"

local _M = {}

local floor, max, min = math.floor, math.max, math.min
local EINVAL = errors.api.errno.EINVAL

-- Beyond, milliseconds are not whole numbers any more; it is 285,000 years.
local FOREVER = 2 ^ 53

local buckets = {} -- by due time
local heap, heaped = {}, 0 -- due times
local born = 0 -- buckets made so far

-- What is being run: the bucket, how far, and the newest bucket that may be run now.
local running = { bucket = false, at = 0, limit = 0, site = dispatch.site() }

local function push(due)
    heaped = heaped + 1
    local i = heaped
    while i > 1 do
        local parent = floor(i / 2)
        if heap[parent] <= due then
            break
        end
        heap[i] = heap[parent]
        i = parent
    end
    heap[i] = due
end

local function pop()
    local due = heap[heaped]
    heap[heaped] = nil
    heaped = heaped - 1
    local i = 1
    while true do
        local child = i * 2
        if child > heaped then
            break
        end
        if child < heaped and heap[child + 1] < heap[child] then
            child = child + 1
        end
        if due <= heap[child] then
            break
        end
        heap[i] = heap[child]
        i = child
    end
    if heaped > 0 then
        heap[i] = due
    end
end

local function start(h, timeout)
    local due = min(loop.now() + timeout, FOREVER)
    local bucket = buckets[due]
    if not bucket then
        born = born + 1
        bucket = { n = 0, active = 0, born = born }
        buckets[due] = bucket
        push(due)
    end
    local n = bucket.n + 1
    bucket.n, bucket[n] = n, h
    bucket.active = bucket.active + 1
    h.due, h.bucket, h.position = due, bucket, n
    if h.referenced then
        loop.refs = loop.refs + 1
    end
end

local function stop(h)
    local bucket = h.bucket
    if not bucket then
        return
    end
    bucket[h.position] = false
    bucket.active = bucket.active - 1
    h.bucket = false
    if h.referenced then
        loop.refs = loop.refs - 1
    end
end

local function is_active(h)
    return h.bucket ~= false
end

--- When the first timer is due.
-- @treturn number|nil ms on the loop's clock
function _M.next_due()
    while heaped > 0 do
        local due = heap[1]
        if buckets[due].active > 0 then
            return due
        end
        buckets[due] = nil
        pop()
    end
end

-- `running.at` is moved before the call, so that the next run goes on behind a failed callback.
local function call_all(run, again)
    local bucket = run.bucket
    while run.at < bucket.n do
        local at = run.at + 1
        run.at = at
        local h = bucket[at]
        if h then
            again(h)
            h.callback()
        end
    end
end

local call_all_interpreted = dispatch.interpreted(call_all)

-- libuv stops a timer, and starts it again when it repeats, before the callback.
local function again(h)
    stop(h)
    if h.interval > 0 then
        start(h, h.interval)
    end
end

--- Calls every timer that is due.
function _M.run()
    if not running.bucket then
        if heaped == 0 then
            return
        end
        running.limit = born
    end
    local now = loop.now()
    while true do
        if not running.bucket then
            local due = heap[1]
            if heaped == 0 or due > now or buckets[due].born > running.limit then
                return
            end
            running.bucket, running.at = buckets[due], 0
            buckets[due] = nil
            pop()
        end
        if running.site.mixed then
            call_all_interpreted(running, again)
        else
            call_all(running, again)
        end
        running.bucket = false
    end
end

local new_record = handle.record_maker [[
    due = 0, bucket = false, position = 0, interval = 0, callback = false
]]

local methods = {}
local class = handle.class("timer", methods, { stop = stop, is_active = is_active })

local function whole(position, ...)
    local value = check.number(position, ...)
    if value < 0 then
        return FOREVER -- luv's uint64_t of a negative number
    end
    return floor(value)
end

local api = {}
_M.api = api

--- A new timer.
-- @treturn userdata
function api.new_timer()
    return (handle.new(class, new_record()))
end

--- Starts a timer.
-- @tparam userdata timer
-- @tparam number timeout ms until the first call; 0: the next time that timers run
-- @tparam number interval ms between further calls; 0: only one call
-- @tparam function callback without arguments
-- @treturn number 0
function api.timer_start(userdata, timeout, interval, callback)
    local h = handle.check(userdata, class)
    timeout = whole(2, userdata, timeout, interval, callback)
    interval = whole(3, userdata, timeout, interval, callback)
    if type(callback) ~= "function" then
        check.callback(4, userdata, timeout, interval, callback)
    end
    if h.closing then
        return errors.fail(EINVAL)
    end
    dispatch.learn(running.site, callback)
    stop(h)
    h.callback, h.interval = callback, interval
    start(h, timeout)
    return 0
end

--- Stops a timer.
-- @tparam userdata timer
-- @treturn number 0
function api.timer_stop(userdata)
    stop(handle.check(userdata, class))
    return 0
end

--- Starts a repeating timer anew with its interval; does nothing for one that does not repeat.
-- @tparam userdata timer
-- @treturn number 0, or nil and `EINVAL` when it was never started
function api.timer_again(userdata)
    local h = handle.check(userdata, class)
    if not h.callback or h.closing then
        return errors.fail(EINVAL)
    end
    if h.interval > 0 then
        stop(h)
        start(h, h.interval)
    end
    return 0
end

--- Sets the interval, from the next time that the timer is started or fires.
-- @tparam userdata timer
-- @tparam number interval ms
function api.timer_set_repeat(userdata, interval)
    local h = handle.check(userdata, class)
    h.interval = whole(2, userdata, interval)
end

--- The interval.
-- @tparam userdata timer
-- @treturn number ms, 0 when it does not repeat
function api.timer_get_repeat(userdata)
    return handle.check(userdata, class).interval
end

--- How long until it fires.
-- @tparam userdata timer
-- @treturn number ms, 0 when it is not active or is due
function api.timer_get_due_in(userdata)
    local h = handle.check(userdata, class)
    return h.bucket and max(0, h.due - loop.now()) or 0
end

for _, name in ipairs { "start", "stop", "again", "set_repeat", "get_repeat", "get_due_in" } do
    methods[name] = api["timer_" .. name]
end

return _M

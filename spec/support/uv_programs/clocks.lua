-- Timeouts, intervals and coroutines that sleep, in the style of luvit's timer library.
local uv = require(arg[1])
local log, at_once = {}, {}

local function set_timeout(ms, callback, ...)
    local timer, args = uv.new_timer(), { n = select("#", ...), ... }
    timer:start(ms, 0, function()
        timer:stop()
        timer:close()
        callback(unpack(args, 1, args.n))
    end)
    return timer
end

local function set_interval(ms, callback)
    local timer = uv.new_timer()
    timer:start(ms, ms, callback)
    return timer
end

local function clear(timer)
    if not timer:is_closing() then
        timer:stop()
        timer:close()
    end
end

local function sleep(ms)
    local thread = coroutine.running()
    set_timeout(ms, function()
        assert(coroutine.resume(thread))
    end)
    return coroutine.yield()
end

local checker, idler, immediates = uv.new_check(), uv.new_idle(), {}
local function set_immediate(callback)
    if #immediates == 0 then
        checker:start(function()
            local now = immediates
            immediates = {}
            checker:stop()
            idler:stop()
            for _, call in ipairs(now) do
                call()
            end
        end)
        idler:start(function() end)
    end
    immediates[#immediates + 1] = callback
end

local ticks = 0
local interval
interval = set_interval(2, function()
    ticks = ticks + 1
    if ticks == 5 then
        clear(interval)
    end
end)
clear(set_timeout(1, error, "cleared in time"))
set_timeout(30, function(a, b, c)
    log[#log + 1] = ("arguments %s %s %s"):format(tostring(a), tostring(b), tostring(c))
end, 1, nil, "three")
set_immediate(function()
    at_once[#at_once + 1] = "immediate"
    set_immediate(function()
        at_once[#at_once + 1] = "next immediate"
    end)
end)
for i = 1, 3 do
    coroutine.wrap(function()
        for _ = 1, 3 do
            sleep(i * 40)
        end
        log[#log + 1] = "slept " .. i
    end)()
end

local delay, steps, halving = 8, 0, uv.new_timer()
halving:start(delay, 0, function()
    steps = steps + 1
    delay = delay / 2
    if delay >= 1 then
        halving:set_repeat(delay)
        halving:again()
    else
        halving:stop()
        halving:close()
    end
end)

uv.run()
checker:close()
idler:close()
uv.run()
print(table.concat(at_once, "\n"))
print(table.concat(log, "\n"))
print(ticks, steps, uv.loop_alive())

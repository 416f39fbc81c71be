-- work N FLIGHT: N pieces of work for the thread pool, so many at a time; a number there and back.
local uv = require(arg[1])
local measure = require "measure"
local n, flight = tonumber(arg[2]), tonumber(arg[3])

local started, finished, sum = 0, 0, 0
local context
context = uv.new_work(function(x)
    return x + 1
end, function(x)
    finished, sum = finished + 1, sum + x
    if started < n then
        started = started + 1
        context:queue(started)
    end
end)

local function work_some(upto)
    n, started, finished, sum = upto, 0, 0, 0
    for _ = 1, math.min(n, flight) do
        started = started + 1
        context:queue(started)
    end
    uv.run()
    assert(finished == n and sum == n * (n + 1) / 2 + n)
end

work_some(64) -- the pool's Lua states are made
local start = measure.cpu_seconds()
work_some(tonumber(arg[2]))
measure.report(measure.cpu_seconds() - start, finished)

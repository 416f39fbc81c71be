-- timers N: N one-shot timers of 1 to 1000 ms, all due when the loop runs, each closing itself.
-- The time between is slept, so that it is no CPU time.
local uv = require(arg[1])
local measure = require "measure"
local n = tonumber(arg[2])

local seed, fired = 12345, 0
local start = measure.cpu_seconds()
for _ = 1, n do
    seed = seed * 16807 % 2147483647
    local timer = uv.new_timer()
    timer:start(1 + seed % 1000, 0, function()
        fired = fired + 1
        timer:close()
    end)
end
uv.sleep(1100)
uv.run()
measure.report(measure.cpu_seconds() - start, fired)

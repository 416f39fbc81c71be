-- closures TIMERS CALLS: timers of 0 ms, which start themselves again with a new closure.
local uv = require(arg[1])
local measure = require "measure"
local n, calls = tonumber(arg[2]), tonumber(arg[3])

local called = 0
local function again(timer, before)
    timer:start(0, 0, function()
        called = called + 1
        if before < calls / n then
            again(timer, before + 1)
        else
            timer:close()
        end
    end)
end
local start = measure.cpu_seconds()
for _ = 1, n do
    again(uv.new_timer(), 1)
end
uv.run()
measure.report(measure.cpu_seconds() - start, called)

-- idle HANDLES CALLS BESIDE: that many calls of idle handles; BESIDE: 0 nothing, 1 a listening
-- socket, 2 a timer that is far off, 3 both.
local uv = require(arg[1])
local measure = require "measure"
local n, calls, beside = tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])

local server = beside % 2 == 1 and measure.listen_on(uv, function() end)
local timer = beside >= 2 and uv.new_timer()
local handles, called = {}, 0

local function on_idle()
    called = called + 1
    if called < calls then
        return
    end
    for i = 1, n do
        handles[i]:stop()
    end
    if server then
        server:close()
    end
    if timer then
        timer:close()
    end
end

if timer then
    timer:start(3600000, 0, function() end)
end

for i = 1, n do
    handles[i] = uv.new_idle()
    handles[i]:start(on_idle)
end
local start = measure.cpu_seconds()
uv.run()
measure.report(measure.cpu_seconds() - start, called)

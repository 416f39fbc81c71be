-- idle HANDLES CALLS POLL: that many calls of idle handles; POLL 1: beside a listening socket.
local uv = require(arg[1])
local measure = require "measure"
local n, calls, poll = tonumber(arg[2]), tonumber(arg[3]), arg[4] == "1"

local server = poll and measure.listen_on(uv, function() end)
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
end

for i = 1, n do
    handles[i] = uv.new_idle()
    handles[i]:start(on_idle)
end
local start = measure.cpu_seconds()
uv.run()
measure.report(measure.cpu_seconds() - start, called)

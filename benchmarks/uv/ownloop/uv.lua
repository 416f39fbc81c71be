-- ownloop MODE TURNS: the program's own loop around run("nowait") or run("once"), beside a timer
-- that is far off and a listening socket, with an idle handle, so that nothing waits.
local uv = require(arg[1])
local measure = require "measure"
local mode, turns = arg[2], tonumber(arg[3])

local server = measure.listen_on(uv, function() end)
local timer, idle, called = uv.new_timer(), uv.new_idle(), 0
timer:start(3600000, 0, function() end)
idle:start(function()
    called = called + 1
end)
local frames = {} -- what a program does between two turns
local start = measure.cpu_seconds()
for turn = 1, turns do
    uv.run(mode)
    frames[turn % 64 + 1] = called
end
local seconds = measure.cpu_seconds() - start
assert(called == turns and #frames > 0)
server:close()
timer:close()
idle:close()
uv.run()
measure.report(seconds, called)

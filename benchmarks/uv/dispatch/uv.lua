-- dispatch FUNCTIONS CALLS [BEFORE]: calls of 1000 idle handles, among which so many function
-- prototypes are spread at random; that many handles of one prototype have been started before.
local uv = require(arg[1])
local measure = require "measure"
local n, calls = tonumber(arg[2]), tonumber(arg[3])

local HANDLES = 1000
local handles, called = {}, { 0 }

local function stop()
    for i = 1, HANDLES do
        handles[i]:stop()
    end
end

-- Each from source of its own: closures of one prototype are one function to the JIT.
local functions = {}
for i = 1, n do
    functions[i] = assert(loadstring(([[
        local called, calls, stop = ...
        return function()
            called[1] = called[1] + 1
            if called[1] == calls then stop() end
            return %d
        end]]):format(i)))(called, calls, stop)
end

for _ = 1, tonumber(arg[4] or 0) do
    local handle = uv.new_idle()
    handle:start(function() end)
    handle:close()
end

local seed = 12345
for i = 1, HANDLES do
    seed = seed * 16807 % 2147483647
    handles[i] = uv.new_idle()
    handles[i]:start(functions[1 + seed % n])
end
local start = measure.cpu_seconds()
uv.run()
measure.report(measure.cpu_seconds() - start, called[1])

-- making KIND N: N handles of a kind are made and closed, a hundred at a time.
local uv = require(arg[1])
local measure = require "measure"
local kind, n = arg[2], tonumber(arg[3])

local make, argument = uv["new_" .. kind], nil
if kind == "async" then
    argument = function() end
elseif kind == "pipe" then
    argument = false
end

local handles = {}
local start = measure.cpu_seconds()
for _ = 1, n / 100 do
    for i = 1, 100 do
        handles[i] = make(argument)
    end
    for i = 1, 100 do
        handles[i]:close()
    end
    uv.run()
end
measure.report(measure.cpu_seconds() - start, math.floor(n / 100) * 100)

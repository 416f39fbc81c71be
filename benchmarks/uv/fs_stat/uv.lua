-- fs_stat N FILE: N times a file's status, synchronously.
local uv = require(arg[1])
local measure = require "measure"
local n, path = tonumber(arg[2]), arg[3]

local size = 0
local start = measure.cpu_seconds()
for _ = 1, n do
    size = size + uv.fs_stat(path).size
end
measure.report(measure.cpu_seconds() - start, n)
assert(size > 0)

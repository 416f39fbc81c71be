-- For benchstat: prints COUNT lines as `go test -bench -count` does, each from a warm loop of
-- about 0.2 s, timed by one clock reading before and after.
local dir, work, share, how, count = arg[1], arg[2], tonumber(arg[3]), arg[4], tonumber(arg[5])
math.randomseed(os.time())
local run = dofile(dir .. "/work.lua").slowed(work, share, how)

local ffi = require "ffi"
ffi.cdef "typedef struct { long s, ns; } truth_time; int clock_gettime(int, truth_time *);"
local time = ffi.new("truth_time")
local function now()
    ffi.C.clock_gettime(1, time)
    return tonumber(time.s) * 1e9 + tonumber(time.ns)
end

local calls = 1
local function loop(times)
    local start, x = now(), 0
    for _ = 1, times do
        x = run()
    end
    return now() - start, x
end

repeat -- as testing.B does
    local ns = loop(calls)
    calls = math.ceil(math.min(calls * 100, 1.2 * calls * 2e8 / ns))
until ns > 1e8
for _ = 1, count do
    print(("BenchmarkWork %d %.2f ns/op"):format(calls, loop(calls) / calls))
end

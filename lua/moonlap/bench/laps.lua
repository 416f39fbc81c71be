--- Laps: every call timed by itself, into a histogram of constant size.
-- @module moonlap.bench.laps
local ffi = require "ffi"
local histogram = require "moonlap.histogram"
local loops = require "moonlap.bench.loop"

jit.off(true, true)

local _M = {}

local ceil, huge, max, min = math.ceil, math.huge, math.max, math.min

local MOST_NUMBER = 2 ^ 30
local MOST_LAPS = 1024    -- of a batch: 8 kB of times
local BATCH_NS = 5e6      -- what a batch should not exceed
local OVERHEAD_BATCHES = 100
local SLOW_CALL = 1e5     -- ns, that entering the loop cannot make much slower

local stamps_t = ffi.typeof("double[?]")


-- What a lap costs by itself: the empty twin's mean lap, as the least of many batches,
-- and how far the middle one lies above it.
local function measure_overhead(self, stamps)
    local twin = loops.empty(self.sink[1])
    local loop = loops.laps(self.clock.now, self.sink, twin, self.state, stamps)
    loop(MOST_LAPS, 1)
    loop(MOST_LAPS, 1)
    local means = {}
    for i = 1, OVERHEAD_BATCHES do
        loop(MOST_LAPS, 1)
        means[i] = (stamps[MOST_LAPS] - stamps[1]) / (MOST_LAPS - 1)
    end
    table.sort(means)
    return means[1], means[ceil(OVERHEAD_BATCHES / 2)] - means[1]
end


--- Times laps until the budget is spent, or `job.lap_count` laps, and writes a `laps` line.
-- @tparam table self the process
-- @tparam number ns_per_call from the batches
function _M.run(self, ns_per_call)
    local job, now = self.job, self.clock.now
    local stamps = stamps_t(MOST_LAPS + 2)
    local overhead, spread = measure_overhead(self, stamps)
    local h = histogram.new()
    local loop = loops.laps(now, self.sink, self.case.spec.run, self.state, stamps)
    local record = loops.record(h, stamps)
    self.loop = loop

    -- A batch's first lap also holds the way from here into the compiled loop: it is left
    -- out, unless calls are too slow to tell, and to be wasted.
    local from = ns_per_call < SLOW_CALL and 1 or 0
    local n = max(1, min(MOST_LAPS, ceil(BATCH_NS / max(ns_per_call + overhead, 1))))
    local function time(count)
        loop(from + count, self.calls + 1)
        self.calls = (self.calls + from + count) % MOST_NUMBER
        record(from, from + count, overhead)
        return stamps[from + count] - stamps[from]
    end

    -- The first batches let the JIT compile both loops; they do not count.
    local left = job.lap_count or huge
    time(min(n, left))
    time(min(n, left))
    h:reset()
    collectgarbage("collect")

    local start, spent = now(), 0
    repeat
        local count = min(n, left)
        spent = spent + time(count)
        left = left - count
    until left <= 0 or not job.lap_count and now() - start >= job.measure_ns

    local count = h:count()
    self.channel:write {
        type = "laps", kind = "calls",
        count = count,
        overhead_ns = overhead,
        overhead_pm = spread,
        mean_ns = spent / count - overhead,
        min_ns = h:min(),
        max_ns = h:max(),
        elapsed_ns = now() - start,
        histogram = h:encode(),
    }
end


return _M

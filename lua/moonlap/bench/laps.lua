--- Laps: every call timed by itself, into a histogram of constant size.
-- @module moonlap.bench.laps
local histogram = require "moonlap.histogram"
local loops = require "moonlap.bench.loop"

jit.off(true, true)

local _M = {}

local ceil, huge, max, min = math.ceil, math.huge, math.max, math.min

local MOST_NUMBER = 2 ^ 30
local OVERHEAD_BATCHES = 50
local OVERHEAD_LAPS = 2000


-- What a lap costs by itself: the empty twin's mean lap, as the least of many batches,
-- and how far the middle one lies above it.
local function measure_overhead(self)
    local h = histogram.new()
    local loop = loops.laps(self.clock.now, self.sink, loops.empty(self.sink[1]), self.state, h)
    loop(OVERHEAD_LAPS, 1, 0)
    loop(OVERHEAD_LAPS, 1, 0)
    local means = {}
    for i = 1, OVERHEAD_BATCHES do
        means[i] = loop(OVERHEAD_LAPS, 1, 0) / OVERHEAD_LAPS
    end
    table.sort(means)
    return means[1], means[ceil(OVERHEAD_BATCHES / 2)] - means[1]
end


--- Times laps until the budget is spent, or `job.lap_count` laps, and writes a `laps` line.
-- @tparam table self the process
-- @tparam number ns_per_call from the batches
function _M.run(self, ns_per_call)
    local job, now = self.job, self.clock.now
    local overhead, spread = measure_overhead(self)
    local h = histogram.new()
    local loop = loops.laps(now, self.sink, self.case.spec.run, self.state, h)
    self.loop = loop

    -- The first batch lets the JIT compile the loop; it does not count.
    local n = max(1, min(1e7, ceil(5e6 / max(ns_per_call + overhead, 1))))
    local function time(count)
        local ns = loop(count, self.calls + 1, overhead)
        self.calls = (self.calls + count) % MOST_NUMBER
        return ns
    end
    time(min(n, job.lap_count or huge))
    h:reset()
    collectgarbage("collect")

    local start, elapsed, left = now(), 0, job.lap_count or huge
    repeat
        local count = min(n, left)
        elapsed = elapsed + time(count)
        left = left - count
    until left <= 0 or not job.lap_count and now() - start >= job.measure_ns

    local count = h:count()
    self.channel:write {
        type = "laps", kind = "calls",
        count = count,
        overhead_ns = overhead,
        overhead_pm = spread,
        mean_ns = elapsed / count - overhead,
        min_ns = h:min(),
        max_ns = h:max(),
        elapsed_ns = elapsed,
        histogram = h:encode(),
    }
end


return _M

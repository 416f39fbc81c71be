--- Measures one case in this VM, from the first call to the last line of its record.
-- @module moonlap.bench.measure
local ballast = require "moonlap.bench.ballast"
local counter = require "moonlap.bench.counter"
local warmup = require "moonlap.bench.warmup"
local series_of = require "moonlap.bench.series"
local loops = require "moonlap.bench.loop"
local memory = require "moonlap.bench.memory"
local random = require "moonlap.bench.random"

jit.off(true, true)

local _M = {}

local collectgarbage = collectgarbage
local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min

local SERIES = 5          -- each begins with a full collection
local LEAST_STEPS = 1000  -- of the clock in a batch
local LEAST_BATCHES = 10  -- unless calls are so slow that 3 must do
local RESIZED_BATCHES = 10 -- of warm-up, when batches became longer
local LOOKS_SHARE = 0.03 -- of the time, at yardsticks: one look a batch
local LONGEST_BATCH = 1e7 -- ns, of a batch that waits for the collector
local JITTER = 0.2        -- batches vary in length, never to lock to a periodic disturbance
local EMPTY_BATCHES = 20  -- of the empty twin after each series
local MOST_NUMBER = 2 ^ 30 -- a call's number stays an integer in the JIT's eyes
local STOPPED_HEAP = 64 * 1024 * 1024 -- bytes that the GC-stopped series may leave


local function jittered(n, draw)
    return n + floor(n * JITTER * draw() + 0.5)
end


-- Batches of a case until `budget` ns are spent. In mode "full", a collection before each.
local function run_batches(self, kind, number, loop, n, budget, most)
    local now = self.series.watch.clock.now
    local start, done = now(), 0
    repeat
        if self.gc == "full" then
            collectgarbage("collect")
        end
        self.series:time(kind, number, loop, jittered(n, self.random))
        done = done + 1
        local elapsed = now() - start
        local enough = done >= LEAST_BATCHES / SERIES or elapsed >= 10 * budget
    until elapsed >= budget and enough or done >= most
    self.series:write()
end


local function start_collector(mode)
    collectgarbage("collect")
    collectgarbage("collect") -- finalizers of the first run in the second
    if mode == "stopped" then
        collectgarbage("stop")
    end
end


-- How many batches of n calls may run with the collector stopped.
local function stopped_batches(self, n)
    local bytes = self.bytes_per_call * n * (1 + JITTER)
    return bytes > 0 and floor(STOPPED_HEAP / bytes) or 1 / 0
end


-- With the collector stopped no more may run than the heap can hold.
local function measured_batches(self, n)
    return self.gc == "stopped" and max(1, stopped_batches(self, n)) or 1 / 0
end


-- A batch of a case that allocates holds a whole cycle of the collector, or batches would
-- differ by where in the cycle they lie. A cycle begins when the heap has doubled.
local function calls_a_cycle(self, n, ns_per_call)
    if self.gc ~= "natural" or self.bytes_per_call < 1 then
        return n
    end
    local heap = collectgarbage("count") * 1024
    local most = LONGEST_BATCH / max(ns_per_call, 1)
    return max(n, ceil(min(1.5 * heap / self.bytes_per_call, most)))
end


local function measure_series(self, loop, empty, n, budget)
    for number = 1, SERIES do
        self.ballast = ballast.new(self.random)
        start_collector(self.gc)
        run_batches(self, "measure", number, loop, n, budget / SERIES, measured_batches(self, n))
        if self.gc == "natural" and self.bytes_per_call >= 1 then
            start_collector("stopped")
            local most = stopped_batches(self, n)
            if most >= 1 then
                run_batches(self, "gc_stopped", number, loop, n, budget / SERIES / 3, most)
            end
        end
        collectgarbage("restart")
        for _ = 1, EMPTY_BATCHES do
            self.series:time("empty", number, empty, jittered(n, self.random))
        end
        self.series:write()
    end
end


-- Goes on for a share of the time a loop takes, by counting and not by the clock: what
-- disturbs the machine disturbs it too. For proving a gate; this file is never compiled.
local function slowed(loop, share, now)
    local turns, fastest = 20000, 1 / 0
    for _ = 1, 50 do
        local start = now()
        for _ = 1, turns do end
        fastest = min(fastest, now() - start)
    end
    local turns_per_ns = turns / fastest
    return function(n, first)
        local begun = now()
        loop(n, first)
        for _ = 1, (now() - begun) * share * turns_per_ns do end
    end
end


-- A loop of the case that numbers its calls through all batches, so that what a case
-- makes of the number does not hang on the length of a batch.
local function numbered_loop(self)
    local loop = loops.batch(self.sink, self.case.spec.run, self.state)
    self.loop = loop
    if self.job.slowdown then
        loop = slowed(loop, self.job.slowdown, self.clock.now)
    end
    return function(n)
        loop(n, self.calls + 1)
        self.calls = (self.calls + n) % MOST_NUMBER
    end
end


local function empty_loop(self)
    local loop = loops.batch(self.sink, loops.empty(self.sink[1]), self.state)
    return function(n)
        loop(n, 1)
    end
end


local function enter_stage(ledger, stage, own)
    ledger.stage, ledger.own = stage, own
end


--- The ns a batch should take: at least 1000 steps of the clock, so long that a process's
-- budget makes no more than 1000 batches, and that looks at yardsticks take 3 % of the time.
-- @tparam table clock
-- @tparam table job
-- @tparam[opt] table yardsticks
-- @treturn number ns
function _M.batch_target(clock, job, yardsticks)
    local look = yardsticks and yardsticks.cost_ns or 0
    return max(LEAST_STEPS * clock.step_ns, job.batch_ns or 2e5, job.measure_ns / 1000,
        look * (1 / LOOKS_SHARE - 1))
end


--- Measures a case that never yields. Lines go to the channel as they are ready.
-- @tparam table self the process: `job`, `case`, `clock`, `ledger`, `pollution`,
-- `channel`, `sink`, `state`, `start`, `barrier`
-- @treturn string why it stopped: "enough", or "time" when warm-up met its limit
function _M.run(self)
    local job = self.job
    self.series = series_of.new(self)
    self.gc = job.gc or "natural"
    self.random = random.new(job.seed or 1)
    local target = _M.batch_target(self.clock, job, self.yardsticks)

    enter_stage(self.ledger, "warmup", true)
    local loop = numbered_loop(self)
    start_collector("natural")
    local n, ns_per_call, steady = warmup.run(self.series, "warmup", loop, target, job.warmup_ns)

    enter_stage(self.ledger, "memory", false)
    local calls
    self.bytes_per_call, calls = memory.per_call(loop, ns_per_call)

    collectgarbage("collect")
    local longer = calls_a_cycle(self, n, ns_per_call)
    if longer > n then
        n = longer
        for _ = 1, RESIZED_BATCHES do
            self.series:time("warmup", 0, loop, jittered(n, self.random))
        end
    end

    -- Made now, when it is known what the case returns.
    enter_stage(self.ledger, "empty", false)
    local empty = empty_loop(self)
    for _ = 1, EMPTY_BATCHES do
        empty(max(n, 100))
    end

    self.counter = counter.open()
    enter_stage(self.ledger, "measure", true)
    self.barrier:wait("measure")
    measure_series(self, loop, empty, n, job.measure_ns)
    self.barrier:keep_busy("measured", function() loop(n) end)

    if job.laps then
        enter_stage(self.ledger, "laps", false)
        require("moonlap.bench.laps").run(self, ns_per_call)
    end

    self.channel:write(self.ledger:report())
    self.ledger:close()
    enter_stage(self.ledger, "memory", false)
    jit.flush()
    jit.off()
    local interpreted = memory.per_call(numbered_loop(self), max(ns_per_call * 20, 1000))
    jit.on()
    self.channel:write {
        type = "memory",
        calls = calls,
        bytes_per_call = self.bytes_per_call,
        interpreted_bytes_per_call = interpreted,
        heap_bytes = ceil(collectgarbage("count") * 1024),
    }
    return steady and "enough" or "time"
end


return _M

--- Yielding targets: cosocket round trips, `ngx.sleep`, anything that gives way to the
-- event loop. Wall time of every call, at a chosen concurrency.
--
-- Closed loop: each thread calls again as soon as its last call returned. Open loop: calls
-- have a fixed schedule, and a call's response time counts from the moment it was *meant*
-- to start, so that a stall is seen by every call that it kept waiting (Gil Tene's
-- "coordinated omission").
-- @module moonlap.bench.concurrent
local histogram = require "moonlap.histogram"
local ballast = require "moonlap.bench.ballast"
local random = require "moonlap.bench.random"
local threads = require "moonlap.bench.threads"

jit.off(true, true)

local _M = {}

local max = math.max

local WARMUP_SHARE = 0.2 -- of the measuring time, before anything counts
local SPIN_BELOW = 0.002 -- s: nginx's timers step in ms; nearer than this, poll


local function new_tally()
    return {
        service = histogram.new(), response = histogram.new(),
        count = 0, sum = 0, sum_response = 0, late = 0,
    }
end


local function closed_loop(self, tally, deadline)
    local now, run, state, sink = self.clock.now, self.case.spec.run, self.state, self.sink
    return function()
        repeat
            local start = now()
            self.calls = self.calls + 1
            sink[1] = run(state, self.calls)
            local service = now() - start
            tally.service:record(service)
            tally.sum = tally.sum + service
            tally.count = tally.count + 1
        until start + service >= deadline
    end
end


-- Waits for the intended start; false when the schedule is over.
local function wait_until(self, due, deadline)
    local now = self.clock.now
    if due >= deadline then
        return false
    end
    while true do
        local left = (due - now()) / 1e9
        if left <= 0 then
            return true
        end
        threads.pause(self.in_nginx, left > SPIN_BELOW and left - 0.001 or 0)
    end
end


local function open_loop(self, tally, start, deadline, interval)
    local now, run, state, sink = self.clock.now, self.case.spec.run, self.state, self.sink
    local turn = 0 -- shared by all threads: the next call of the schedule
    return function()
        while true do
            local due = start + turn * interval
            turn = turn + 1
            if not wait_until(self, due, deadline) then
                return
            end
            local begun = now()
            self.calls = self.calls + 1
            sink[1] = run(state, self.calls)
            local ended = now()
            tally.service:record(ended - begun)
            tally.response:record(ended - due)
            tally.sum = tally.sum + (ended - begun)
            tally.sum_response = tally.sum_response + (ended - due)
            tally.count = tally.count + 1
            tally.late = tally.late + (begun - due > interval and 1 or 0)
        end
    end
end


local function run_for(self, duration)
    local tally = new_tally()
    local start = self.clock.now()
    local deadline = start + duration
    local body = self.rate
        and open_loop(self, tally, start, deadline, 1e9 / self.rate)
        or closed_loop(self, tally, deadline)
    local bodies = {}
    for i = 1, self.concurrency do
        bodies[i] = body
    end
    threads.run(self.in_nginx, bodies, self.handler)
    tally.elapsed = self.clock.now() - start
    return tally
end


local function write_laps(self, tally, kind, sum)
    local h = tally[kind]
    if h:count() == 0 then
        return
    end
    self.channel:write {
        type = "laps", kind = kind,
        count = tally.count,
        overhead_ns = self.clock.cost_ns, -- said, not taken off: it is far below a yield
        overhead_pm = 0,
        mean_ns = sum / tally.count,
        min_ns = h:min(),
        max_ns = h:max(),
        elapsed_ns = tally.elapsed,
        late = kind == "response" and tally.late or nil,
        histogram = h:encode(),
    }
end


--- Measures a yielding case. Lines go to the channel.
-- @tparam table self the process; `concurrency` and `rate` are set
-- @treturn string why it stopped
function _M.run(self)
    local job = self.job
    self.concurrency = max(1, job.concurrency or self.case.spec.concurrency or 1)
    self.rate = job.rate or self.case.spec.rate
    self.ledger.stage, self.ledger.own = "warmup", true
    run_for(self, max(job.measure_ns * WARMUP_SHARE, 2e7))

    self.ballast = ballast.new(random.new(job.seed or 1))
    collectgarbage("collect")
    self.ledger.stage = "measure"
    self.barrier:wait("measure")
    local tally = run_for(self, job.measure_ns)
    write_laps(self, tally, "service", tally.sum)
    if self.rate then
        write_laps(self, tally, "response", tally.sum_response)
    end
    self.channel:write(self.ledger:report())
    self.ledger:close()
    return "enough"
end


return _M

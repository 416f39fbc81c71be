--- A period: the time in which one side sends, cut into slices. It ends when all that was under
-- way has an answer, or has timed out.
-- @module moonlap.load.period
local counters = require "moonlap.load.counters"
local kernel = require "moonlap.load.kernel"
local lines = require "moonlap.load.lines"
local loop = require "moonlap.load.loop"

local _M = {}

local now = kernel.now
local huge = math.huge

local HURRY = 2e8 -- ns that an interrupted run still waits for responses
-- How long, in ns, the server may still run behind its last response, and how long it mostly does.
local SETTLE, SOON = 1e7, 1e5


local function server_cpu(self, side)
    if self.thread ~= 0 or not side.pids or #side.pids == 0 then
        return nil
    end
    local sum = 0
    for _, pid in ipairs(side.pids) do
        local ns = kernel.cpu_of(pid)
        if not ns then
            return nil
        end
        sum = sum + ns
    end
    return sum
end


-- Waits until the side's server sleeps. The kernel adds to the CPU clock of a process when it stops
-- running, and at ticks that are up to 4 ms apart: who reads it while the process runs misses that.
local function let_server_settle(self, side)
    if self.thread ~= 0 then
        return
    end
    local from = now()
    for _, pid in ipairs(side.pids or {}) do
        while kernel.is_runnable(pid) and now() - from < SETTLE do
            if now() - from > SOON then
                kernel.poll({}, 0, 1) -- it may be waiting for this processor
            end
        end
    end
end


-- Begins a slice.
local function open_slice(self, t)
    self.slice_begin, self.cpu_begin = t, kernel.cpu()
    self.server_begin = server_cpu(self, self.side)
end


-- Counts what became due until `t` by a second, equal schedule.
local function count_offered(self, side, t)
    local again = side.offered
    if again then
        local n = 0
        while self.origin + again.due < t do
            n = n + 1
            again:next()
        end
        side.counters.offered = n
    end
end


-- Ends a slice, and says what came of it.
local function close_slice(self, t, drain_ns)
    local side, period = self.side, self.period
    count_offered(self, side, math.min(t, period.at + period.ns))
    local server = server_cpu(self, side)
    local line = counters.line(side.counters, side.pace ~= nil, {
        thread = self.thread, side = side.index, slice = self.slice, block = period.block
            or self.slice,
        warmup = period.warmup or nil,
        at_ns = self.slice_begin - period.zero, ns = t - self.slice_begin, drain_ns = drain_ns,
        cpu_ns = kernel.cpu() - self.cpu_begin, spun_ns = self.spun > 0 and self.spun or nil,
        server_cpu_ns = server and self.server_begin and server - self.server_begin or nil,
        lag_p99_ns = self.lag:percentile(99), lag_max_ns = self.lag:max(),
        stops_ns = loop.take_stops(self),
    })
    self.lag:reset()
    self.spun = 0
    self.send_line(line)
    self.slice = self.slice + 1
    open_slice(self, t) -- what this took delays what has arrived meanwhile: it is the next slice's
    self.woke = t
end


-- What was due and never sent has waited until now.
local function record_unsent(self, side, t)
    local pace, n = side.pace, side.counters
    while self.origin + pace.due < side.until_ns and self.origin + pace.due < t do
        n.latency:record(t - (self.origin + pace.due))
        n.unsent = n.unsent + 1
        pace:next()
    end
end


-- The next time at which on_deadline has something to do.
local function next_cut(self)
    local period = self.period
    local cut = self.cut_from + period.cut_ns
    local stop = period.at + period.ns
    -- A last piece that would be less than half a slice belongs to the one before.
    if cut + period.cut_ns / 2 > stop then
        cut = stop
    end
    self.cut_from, self.deadline = cut, cut
end


-- Sending is over: what is under way may still finish.
local function begin_drain(self, t)
    local side = self.side
    self.draining, self.drain_begin = true, t
    if not side.pace then
        side.sending = false
    end
    self.deadline = t + (self.hurry and HURRY or self.timeout_ns)
end


local function finish(self, t)
    local side = self.side
    side.sending = false
    if side.pace and not self.stopped then
        record_unsent(self, side, t)
    end
    let_server_settle(self, side)
    close_slice(self, t, t - self.drain_begin)
    self.finished = true
    return true
end


-- Called by the loop when a slice's time is over, and when a drain takes too long.
local function on_deadline(self, t)
    if self.waiting then
        self.waiting, self.side.sending = false, true
        open_slice(self, t)
        self.lag:reset()
        loop.take_stops(self)
        self.cut_from = self.period.at
        next_cut(self)
        -- Connections that were idle until now begin.
        if not self.side.pace then
            self.begin_all(self, t)
        end
        return false
    elseif self.draining then
        -- Requests under way time out by themselves; what is left is a schedule that was not met.
        self.side.sending = false
        if self.side.flying > 0 and not self.hurry then
            self.deadline = t + self.scan_ns
            return false
        end
        return finish(self, t)
    elseif t >= self.period.at + self.period.ns then
        begin_drain(self, t)
        return false
    end
    close_slice(self, t, 0)
    next_cut(self)
    return false
end


-- Called by the loop when nothing is under way and nothing more will be sent.
local function on_idle(self, t)
    if self.waiting then
        return false
    end
    if not self.draining then
        self.drain_begin = t
    end
    return finish(self, t)
end


--- Writes the slice as it is: the process ends.
function _M.close(self)
    close_slice(self, now(), 0)
end


--- Ends the period before its time.
function _M.cut_short(self)
    local period, t = self.period, now()
    if period and not self.draining then
        period.ns = math.max(0, t - period.at)
        self.side.until_ns, self.side.sending = t, false
        self.cut_from, self.deadline = t, t
    elseif period and self.hurry then
        self.deadline = t + HURRY
    end
end


--- Runs a period until its end.
-- @tparam table self the thread
-- @tparam table period `side`, `slice` and `block` of the first slice, `at` (when it begins),
-- `ns`, `cut_ns`, `zero` (what `at_ns` counts from), `warmup`
function _M.run(self, period)
    local side = self.sides[period.side]
    self.side, self.period = side, period
    self.slice = period.slice
    self.lag = self.lag or lines.histogram()
    self.draining, self.finished, self.beginning = false, false, nil
    self.drain_begin = period.at + period.ns
    side.until_ns = period.at + period.ns
    -- The schedule of a side goes on where its last period ended.
    self.origin = period.at - side.elapsed
    side.elapsed = side.elapsed + period.ns
    side.sending = false
    self.deadline = period.at
    self.on_deadline, self.on_idle = on_deadline, on_idle
    self.waiting = true
    local quota = side.quota
    if period.warmup then
        side.quota = nil
    end
    self.protect(self, loop.run)
    if period.warmup then
        side.quota = quota
        side.renew()
    end
    side.until_ns = -huge
    self.period = nil
end


return _M

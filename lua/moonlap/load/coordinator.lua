--- A run from start to finish: starts the threads, has the scripts set up, gives out the periods.
-- @module moonlap.load.coordinator
local channel = require "moonlap.bench.channel"
local crew_of = require "moonlap.load.crew"
local kernel = require "moonlap.load.kernel"
local limits = require "moonlap.bench.limits"
local main_state = require "moonlap.load.main_state"
local schedule = require "moonlap.load.schedule"
local script = require "moonlap.load.script"

local _M = {}

local now = kernel.now

local POLLIN = 1
local LEAD = 5e5        -- ns from the order to begin until the beginning
local SLICE = 1e8       -- ns, of a side that is alone

-- Sides that are compared take over from each other as often as that costs little: the machine's
-- noise from slice to slice is the same for short ones, and more of them average it out. But a
-- slice begins with idle connections, and ends with a drain.
local SHORTEST, LONGEST = 1e7, 1e8
local OF_DRAIN = 4      -- times as long as the drain behind it
local WARM_PERIODS = 6  -- of each side
local MOST_BLOCKS = 2000 -- that a comparison looks at one by one
local WARM_ROOM = 1.25  -- times as long as a warm-up with its drains, where machines start together


-- Requests that ask for a connection of their own.
local function forbid_reuse(side)
    side.headers = side.headers or {}
    for _, header in ipairs(side.headers) do
        if header[1]:lower() == "connection" then
            return
        end
    end
    table.insert(side.headers, { "Connection", "close" })
end


-- What a job may leave out.
local function complete(job)
    if job.keepalive == false then
        for _, side in ipairs(job.sides) do
            forbid_reuse(side)
        end
    end
    job.threads, job.connections = job.threads or 1, job.connections or 1
    job.timeout_ns, job.seed = job.timeout_ns or 2e9, job.seed or 1
    job.warmup_ns = job.warmup_ns or 0
    if #job.sides == 1 then
        job.slice_ns = job.slice_ns or SLICE
    end
    if not job.duration_ns and job.stages then
        job.duration_ns = 0
        for _, stage in ipairs(job.stages) do
            job.duration_ns = job.duration_ns + stage.duration_ns
        end
    end
    job.duration_ns = job.duration_ns or (job.requests and 3.6e12 or 1e10)
end


-- The scripts' files, setup() and init(), thread by thread as in wrk.
local function prepare(self)
    local batches = {}
    for thread = 0, self.job.threads - 1 do
        self.crew:ask(thread, { op = "load" })
        self.main:setup(thread)
        self.crew:ask(thread, { op = "init" })
        if thread == 0 then
            for side = 0, #self.job.sides - 1 do
                local answer = self.crew:ask(thread, { op = "verify", side = side })
                batches[side] = answer and answer.batch
            end
        end
    end
    local answers = self.crew:ask_all({ op = "connect", batches = batches }, 6)
    for _, answer in pairs(answers) do
        if type(answer) == "table" and answer.problem then
            return nil, answer.problem
        end
    end
    return true
end


-- When the next period may begin. Where other machines load too, slices begin at times that all
-- of them count from the common start, so that their sides take turns together.
local function next_begin(self, warmup)
    local job = self.job
    local at = now() + LEAD
    if not job.pitch_ns or warmup then
        return at
    end
    local first = self.started + WARM_ROOM * job.warmup_ns + job.pitch_ns
    return math.max(at, (self.zero or first) + self.slice * job.pitch_ns)
end


-- One period in all threads. True when something ended the run.
local function period(self, side, ns, cut_ns, warmup)
    local at = next_begin(self, warmup)
    if not warmup and not self.zero then
        self.zero = at
        self.write { type = "load_begin", at_ns = at, slice_ns = self.job.slice_ns }
    end
    local answers = self.crew:ask_all {
        op = "go", side = side, slice = self.slice, block = self.block, at = at, ns = ns,
            cut_ns = cut_ns,
        zero = self.zero or at + ns, warmup = warmup,
    }
    local took = now() - at
    if warmup then
        table.insert(self.drains, took - ns)
    else
        self.elapsed[side] = (self.elapsed[side] or 0) + took
        self.last = now()
    end
    local all_stopped, quotas = true, false
    for _, answer in pairs(answers) do
        all_stopped = all_stopped and answer.stopped
        quotas = quotas or answer.quota and answer.quota > 0
    end
    if self.crew.exited or next(answers) and all_stopped then
        self.stop = self.crew.interrupted and "interrupted" or "script"
    elseif self.crew.interrupted then
        self.stop = "interrupted"
    elseif not self.crew:any() then
        self.stop = "error"
        self.text = "no thread is left"
    elseif self.job.requests and not quotas and not warmup then
        self.spent[side] = true
    end
    return self.stop ~= nil
end


local function all_spent(self)
    for side = 0, #self.job.sides - 1 do
        if not self.spent[side] then
            return false
        end
    end
    return true
end


-- How long slices are, where the job does not say: by a long drain of the warm-up, but not the
-- longest, which may be the machine's.
local function length_of(self)
    local job, drains = self.job, self.drains
    if #drains == 0 then
        return LONGEST
    end
    table.sort(drains)
    local drain = drains[math.ceil(#drains * 0.75)]
    local least = math.max(SHORTEST, OF_DRAIN * drain,
        job.duration_ns / (2 * #job.sides * MOST_BLOCKS))
    return math.min(LONGEST, math.ceil(least / 1e7) * 1e7)
end


-- Sends what counts nowhere. Of several sides each has some periods, to see how long they drain.
local function warm_up(self)
    local job = self.job
    local times = #job.sides > 1 and WARM_PERIODS or 1
    for _ = 1, times do
        for side = 0, #job.sides - 1 do
            local ns = job.warmup_ns / #job.sides / times
            if period(self, side, ns, ns, true) then
                return true
            end
        end
    end
end


-- Sides take turns, slice by slice.
local function run_sides(self)
    local job = self.job
    job.slice_ns = job.slice_ns or length_of(self)
    local next_block = schedule.blocks(#job.sides, job.seed)
    self.slice, self.block = 0, 0
    local begin = next_begin(self)
    while next_begin(self) - begin < job.duration_ns do
        for _, side in ipairs(next_block()) do
            if not self.spent[side] and period(self, side, job.slice_ns, job.slice_ns) then
                return
            end
            self.slice = self.slice + 1
        end
        self.block = self.block + 1
        if job.requests and all_spent(self) then
            self.stop = "requests"
            return
        end
    end
end


-- Waits for the byte on stdin by which all machines start. False where it does not come.
local function await_start(self)
    while not self.crew.interrupted do
        for _, i in ipairs(kernel.poll({ 0, self.crew.signals }, POLLIN, 1000)) do
            if i == 2 then
                self.crew:interrupt()
            else
                return io.read(1) ~= nil
            end
        end
    end
    return false
end


local function run(self)
    local job = self.job
    self.slice = 0
    if job.waits and not await_start(self) then
        self.stop = "interrupted"
        return
    end
    self.started = now()
    if job.warmup_ns > 0 and warm_up(self) then
        return
    end
    if #job.sides > 1 then
        return run_sides(self)
    end
    period(self, 0, job.duration_ns, job.slice_ns)
    if self.spent[0] then
        self.stop = "requests"
    end
end


-- The last line of a run.
local function write_done(self, more)
    local line = {
        type = "load_done", elapsed_ns = self.zero and self.last and self.last - self.zero or 0,
        threads_lost = self.crew.lost,
    }
    for key, value in pairs(more) do
        line[key] = value
    end
    self.write(line)
end


local function finish(self)
    local answers = self.crew:ask_all { op = "finish" }
    if self.zero and not self.crew.exited then
        self.main:done(answers, self.elapsed)
    end
    local switches = 0
    for _, answer in pairs(answers) do
        switches = switches + (answer.switches or 0)
    end
    self.crew:close()
    write_done(self, {
        stop = self.stop or "duration", switches = switches, text = self.text,
        status = self.crew.exited,
    })
end


-- os.exit in the main state ends the run, not the report.
local function watch_exit(self)
    local exit = os.exit
    os.exit = function(status) -- luacheck: ignore 122
        local info = debug.getinfo(2, "Sl")
        local line = script.error_line(("os.exit(%s)"):format(tostring(status or "")), self.stage,
            0, -1, "exit")
        line.file, line.line, line.status = info.short_src, info.currentline, tonumber(status) or 0
        self.write(line)
        write_done(self, { stop = "script", status = line.status })
        io.stdout:flush()
        exit(0) -- the threads end with this process
    end
end


--- Runs a job.
-- @treturn boolean true; or nil and why not
function _M.run(job)
    local out, err = channel.open(0, {})
    if not out then
        return nil, err
    end
    limits.apply(0)
    complete(job)
    local self = {
        job = job, elapsed = {}, spent = {}, stage = "setup", slice = 0, drains = {},
        write = function(line)
            if type(line) == "string" then
                out:write_text(line .. "\n")
            else
                out:write(line)
            end
        end,
    }
    self.crew, err = crew_of.start(job, self.write)
    if not self.crew then
        return nil, err
    end
    watch_exit(self)
    self.main = main_state.new(job, self.crew, self.write, function()
        write_done(self, { stop = "script" })
    end)
    self.crew.place = function(side, hook)
        return self.main:place(side, hook)
    end
    local ok
    ok, err = prepare(self)
    if not ok then
        self.crew:close()
        return nil, err
    end
    if not self.crew.exited then
        run(self)
    else
        self.stop = "script"
    end
    self.stage = "done"
    finish(self)
    return true
end


return _M

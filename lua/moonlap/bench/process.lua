--- A job from start to finish: what a runtime calls in a fresh VM.
--
-- The job is Lua source in the environment variable `MOONLAP_JOB`; what comes of it goes
-- to the channel as lines of the record.
-- @module moonlap.bench.process
local json = require "moonlap.json"
local channel = require "moonlap.bench.channel"
local ledger = require "moonlap.bench.ledger"
local limits = require "moonlap.bench.limits"
local place = require "moonlap.bench.place"
local registry = require "moonlap.bench.registry"
local vm = require "moonlap.bench.vm"

jit.off(true, true)

local _M = {}

local getinfo, getlocal = debug.getinfo, debug.getlocal
local xpcall, tostring = xpcall, tostring

local ERROR_MEMORY = "not enough memory" -- LuaJIT's words


-- Number of the call that was under way: the turn of the timed loop on the stack.
local function current_call(self)
    for level = 3, 200 do
        local info = getinfo(level, "f")
        if not info then
            return nil
        end
        if info.func == self.loop then
            for index = 1, 20 do
                local name, value = getlocal(level, index)
                if not name then
                    return nil
                elseif name == "i" then
                    return value
                end
            end
        end
    end
    return nil
end


-- Splits "file:line: text" as LuaJIT puts it before error messages. After a tail call the
-- position is that of our own code, which called the user's: it would only mislead.
local function split_position(text)
    local file, line, rest = text:match("^([^\n]-):(%d+): (.*)$")
    if not file then
        return nil, nil, text
    elseif place.is_ours(file) then
        return split_position(rest)
    end
    return file, tonumber(line), rest
end


local function new_fault(self, kind, text, file, line)
    return {
        type = "fault", case = self.job.mode == "measure" and self.job.case or -1,
        kind = kind, stage = self.stage, text = text,
        file = file or self.case and self.case.file or self.job.file,
        line = line or self.case and self.case.line,
    }
end


-- A traceback without what lies below the user's code: our own functions.
local function trim(traceback)
    local lines = {}
    for line in traceback:gmatch("[^\n]+") do
        local file = line:match("^%s+(.-):%d*:? in ") or ""
        if place.is_generated(file) or place.is_library(file) then
            break
        end
        lines[#lines + 1] = line
    end
    return table.concat(lines, "\n")
end


-- What was thrown, in words. Errors may be of any type.
local function words(err)
    local ok, text = pcall(tostring, err)
    if not ok then
        return "an error object whose own __tostring throws"
    elseif type(err) ~= "table" or text:sub(1, 6) ~= "table:" then
        return text
    end
    ok, text = pcall(json.encode, err) -- its address would say nothing
    return "an error object, " .. (ok and text or "a table")
end


-- The kind of a fault and its text, from the words that were thrown.
local function judge(self, text)
    if text ~= ERROR_MEMORY then
        return "error", text
    end
    local limit = self.job.memory_bytes
    if not limit then
        return "memory", text
    end
    return "memory", ("%s: --memory allows %.4g MiB"):format(text, limit / 2 ^ 20)
end


-- Called by xpcall where an error was thrown, with the stack still there.
local function new_handler(self)
    return function(err)
        if type(err) == "table" and rawget(err, "moonlap_fault") then
            return err
        end
        local file, line, rest = split_position(words(err))
        if not file then
            file, line = place.of_user(2)
        end
        local kind, said = judge(self, rest)
        local fault = new_fault(self, kind, said, file, line)
        fault.call = current_call(self) or self.stage == "run" and self.calls == 0 and 1 or nil
        fault.traceback = trim(debug.traceback("", 2))
        fault.moonlap_fault = true
        return fault
    end
end


-- An exit in the middle of a measurement is a fault, with a place in the user's code.
local function watch_exit(self)
    local exit = os.exit
    os.exit = function(status, ...) -- luacheck: ignore 122
        local file, line = place.of_user(2)
        local fault = new_fault(self, "exit",
            "the code ended its own process: os.exit(" .. tostring(status or "") .. ")",
            file, line)
        self.channel:write(fault)
        return exit(status, ...)
    end
end


local function load_code(self)
    local job = self.job
    local setup = job.setup and job.setup .. "\n" or ""
    for i, code in ipairs(job.code) do
        local name = "=(-e " .. i .. ")"
        -- An expression is worth keeping; anything else is a block.
        local chunk = load(setup .. "return function(...) return " .. code .. "\nend", name)
            or load(setup .. "return function(...) " .. code .. "\nend", name)
        if not chunk then
            -- Complain about the user's code, not about what stands around it.
            assert(load(setup, "=(--setup)"))
            error(select(2, load(code, name)) or name:sub(2) .. ": not a block of code", 0)
        end
        registry.declare(code:gsub("%s+", " "):sub(1, 80), chunk(), name:sub(2), 1)
    end
end


local function load_benchmarks(self)
    self.stage = "load"
    local job = self.job
    if job.code then
        return load_code(self)
    end
    local chunk, err = loadfile(job.file)
    if not chunk then
        error(err, 0)
    end
    chunk(job.file)
end


local function list(self)
    local cases = registry.cases()
    for _, case in ipairs(cases) do
        self.channel:write {
            type = "case", case = case.index, index = case.index, name = case.name,
            benchmark = case.benchmark, params = next(case.params) and case.params or nil,
            tags = case.spec.tags and json.array(case.spec.tags) or nil,
            file = case.file, line = case.line, runtime = self.job.runtime or "",
            gc = self.job.gc or "natural",
            concurrency = case.spec.concurrency, rate = case.spec.rate,
        }
    end
end


local function find_case(self)
    local job = self.job
    local case = registry.cases()[job.index + 1]
    if not case or case.name ~= job.name then
        error("the file declares other cases now than when they were listed: '" .. job.name
            .. "' is not at its place; declarations must not depend on chance or time", 0)
    end
    return case
end


local function check(self)
    self.stage = "check"
    if self.case.spec.check then
        self.case.spec.check(self.sink[1], self.state)
    end
end


-- The first call: does it work, is its result right, does it yield?
local function first_call(self)
    self.stage = "run"
    local threads = require "moonlap.bench.threads"
    local spec, state = self.case.spec, self.state
    local function call()
        self.sink[1] = spec.run(state, 1)
    end
    -- A loop inside the case may be compiled in this very call.
    self.ledger.stage, self.ledger.own = "warmup", true
    if vm.can_yield(self.phase) then
        self.yields = threads.yields(self.in_nginx, call, self.handler)
    else
        call()
    end
    self.ledger.own = false
    self.calls = 1
    check(self)
end


local function measure(self)
    self.case = find_case(self)
    self.ledger.file, self.ledger.line = self.case.file, self.case.line
    local spec = self.case.spec
    self.stage, self.ledger.stage = "setup", "setup"
    self.state = self.case.params
    if spec.setup then
        self.state = spec.setup(self.case.params)
    end
    first_call(self)

    -- Again, and with all hot counters reset: a replay begins where the draw did.
    self.stage = "run"
    vm.seed(self.job)
    vm.cool(self.job)
    local concurrent = self.yields or self.job.concurrency or self.job.rate
        or spec.concurrency or spec.rate
    local how = concurrent and "moonlap.bench.concurrent" or "moonlap.bench.measure"
    self.stop = require(how).run(self)

    check(self)
    self.stage = "teardown"
    if spec.teardown then
        spec.teardown(self.state)
    end
end


local function open_process(phase)
    local source = os.getenv("MOONLAP_JOB")
    if not source then
        return nil, "MOONLAP_JOB is not set: this module is called by moonlap"
    end
    local job = assert(load(source, "=MOONLAP_JOB"))()
    job.case, job.index = job.case or 0, job.index or 0 -- zeros are left out
    local in_nginx = phase ~= nil
    local worker = in_nginx and ngx.worker.id() or 0
    local lines, err = channel.open(worker, {process = job.process or 0, worker = worker})
    if not lines then
        return nil, err
    end
    limits.apply(job.memory_bytes)
    return {
        job = job, phase = phase, in_nginx = in_nginx, channel = lines,
        stage = "load", calls = 0, sink = {false},
        barrier = require("moonlap.bench.barrier").new(
            job.workers or 1, in_nginx and ngx.shared.moonlap_internal, vm.can_yield(phase)),
    }
end


local function run(self)
    local job = self.job
    vm.configure(job)
    self.clock = assert(require("moonlap.clock").open(job.clock))
    vm.seed(job)
    self.start = self.clock.now()
    self.ledger = ledger.open()
    self.pollution = require("moonlap.bench.pollution").open()
    self.yardsticks = require("moonlap.bench.yardstick").open(self.clock)
    if job.mode == "measure" then
        self.channel:write(vm.describe(job, self.clock, self.phase))
    end
    load_benchmarks(self)
    if job.mode == "list" then
        list(self)
    else
        measure(self)
    end
    self.channel:write {
        type = "finish", stop = self.stop or "enough", yields = self.yields or nil,
        elapsed_ns = self.clock.now() - self.start,
        instructions_per_call = self.counter and self.counter:per_call(),
    }
end


-- Runs the job; true when it finished.
local function run_job(phase)
    local self, err = open_process(phase)
    if not self then
        io.stderr:write("moonlap: ", err, "\n")
        return false
    end
    watch_exit(self)
    self.handler = new_handler(self)
    local ok, fault = xpcall(run, self.handler, self)
    if not ok then
        collectgarbage("restart")
        if type(fault) ~= "table" then -- no handler ran: no memory left, or it failed itself
            fault = new_fault(self, judge(self, tostring(fault)))
        end
        fault.moonlap_fault = nil
        self.channel:write(fault)
    end
    return ok
end


--- Entry under plain LuaJIT. Ends the process: 0 when the job finished, else 1.
function _M.main()
    local exit = os.exit
    exit(run_job(nil) and 0 or 1)
end


--- Entry in an nginx worker, called in the phase that the job is to run in.
-- @tparam string phase
function _M.nginx(phase)
    run_job(phase)
end


return _M

--- One thread of a run: a process that does what the coordinator says, and drives the loop.
-- @module moonlap.load.thread
local bit = require "bit"
local counters = require "moonlap.load.counters"
local connection = require "moonlap.load.connection"
local exchange = require "moonlap.load.exchange"
local json = require "moonlap.json"
local kernel = require "moonlap.load.kernel"
local lines = require "moonlap.load.lines"
local loop = require "moonlap.load.loop"
local own_thread = require "moonlap.load.own_thread"
local period = require "moonlap.load.period"
local script = require "moonlap.load.script"
local sides = require "moonlap.load.side"
local socket = require "moonlap.load.socket"
local vm = require "moonlap.load.vm"
local wrk = require "moonlap.load.wrk"

local _M = {}

local now = kernel.now
local huge = math.huge

-- What the hook that is under way is called: the coordinator reads its number in shared memory.
_M.HOOKS = { "request", "response", "check", "delay", "init", "load" }
local DELAY, INIT, LOAD = 4, 5, 6

local EPOLLIN = 1
local LEAST_AGAIN = 1e8     -- ns until a request() that gave no request is asked again
local MOST_LINES = 10       -- of script errors, each of another text


-- Sends a line for Go. The texts of histograms need no escapes, and looking for some takes time.
local function send_line(self, line)
    local raw, latency = line.raw, line.latency
    line.raw, line.latency = nil, nil
    local text = json.encode(line)
    if raw then
        text = ('%s,"raw":"%s","latency":"%s"}'):format(text:sub(1, -2), raw, latency)
    end
    self.pipe:send_text("L" .. text)
end


-- Says that a hook threw, once for each text.
local function report(self, text, hook, side, kind)
    local line = script.error_line(text, hook, side, self.thread, kind)
    if not line.file and self.scripts[side] then
        line.file, line.line = self.scripts[side]:place(hook)
    end
    local key = line.hook .. line.text .. tostring(line.line)
    if not self.reported[key] and self.reports < MOST_LINES then
        self.reported[key], self.reports = true, self.reports + 1
        send_line(self, line)
    end
    return line
end


-- Runs a hook outside the loop. Its results after true; or false.
local function guarded(self, side, hook, number, f, ...)
    self.hook[0], self.hook[1] = number, side
    local ok, result = xpcall(f, script.text_of, ...)
    self.hook[0] = 0
    if not ok then
        report(self, result, hook, side)
        return false
    end
    return true, result
end


-- Runs the loop; where a hook throws, its connection fails and the loop goes on.
local function protect(self, run)
    while not self.finished do
        local ok, text = xpcall(run, script.text_of, self)
        if not ok then
            local number, conn = self.hook[0], self.current
            self.hook[0] = 0
            if number == 0 or not conn then
                error(text, 0) -- our own fault
            end
            local line = report(self, text, _M.HOOKS[number], conn.side.index)
            local words = ("%s(): %s"):format(line.hook, line.text)
            -- With HTTP/2 the frames behind the one that led here are lost: the connection fails.
            if (number == 1 or number == DELAY) and conn.side.streams == 0 then
                counters.error(conn.side.counters, "script", words)
                connection.wake(self, conn, now() + LEAST_AGAIN)
            else
                connection.fail(self, conn, "script", words, now())
            end
        end
    end
end


-- request() returned nothing that can be sent.
local function no_request(self, conn, text, t)
    if conn.pause then -- it wants to sleep
        local pause = conn.pause
        conn.pause = false
        return connection.wake(self, conn, t + pause)
    elseif type(text) == "number" then
        text = "a number"
    elseif text == "" then
        text = "an empty string"
    else
        text = text == nil and "nil" or "a " .. type(text)
    end
    local words = "request() returned " .. text .. ", not the text of a request"
    report(self, words, "request", conn.side.index)
    counters.error(conn.side.counters, "script", words)
    return connection.wake(self, conn, t + LEAST_AGAIN)
end


-- delay() returned what is no time.
local function no_delay(self, conn, said)
    local words = ("delay() returned %s, not milliseconds"):format(type(said) == "number"
        and ("%g"):format(said) or type(said) == "string" and ("%q"):format(said:sub(1, 40))
        or "a " .. type(said))
    report(self, words, "delay", conn.side.index)
    counters.error(conn.side.counters, "script", words)
end


local function new_delay(self, env)
    return function(_, conn, t)
        self.hook[0], self.current = DELAY, conn
        local said = env.delay()
        self.hook[0] = 0
        local ms = tonumber(said or 0) -- nil is none, as in wrk
        if not ms or not (ms >= 0 and ms < huge) then
            no_delay(self, conn, said)
            ms = 0
        end
        local n = conn.side.counters
        n.delays, n.delay_ns = n.delays + 1, n.delay_ns + ms * 1e6
        return connection.wake(self, conn, t + ms * 1e6)
    end
end


-- All connections that are open and idle send; called when a closed loop begins, and again when a
-- hook threw before all had done so.
local function begin_all(self, t)
    local waiting = self.beginning
    if not waiting then
        waiting = {}
        self.beginning = waiting
        local side = self.side
        local conn = exchange.first_idle(side)
        while conn do
            exchange.take_idle(side, conn)
            waiting[#waiting + 1] = conn
            conn = exchange.first_idle(side)
        end
    end
    while #waiting > 0 do
        local conn = table.remove(waiting)
        exchange.fill(self, conn, t)
    end
    self.beginning = nil
end


local commands = {}


-- Runs the scripts' files.
function commands.load(self)
    local job = self.job
    self.scripts = {}
    -- Modules that are needed later have the engine's globals, not the script's.
    if job.protocol == "h2" or job.protocol == "websocket" then
        require("moonlap.load." .. job.protocol)
    end
    require "moonlap.load.tls"
    for i, spec in ipairs(job.sides) do
        local one = script.new(spec, #job.sides == 1)
        one.hook = self.hook
        self.scripts[i - 1] = one
        self.hook[0], self.hook[1] = LOAD, i - 1
        local ok, err = one:run()
        self.hook[0] = 0
        if not ok then
            report(self, err, "load", i - 1)
        end
    end
    return true
end


function commands.get(self, message)
    return { value = self.scripts[message.side].env[message.name] }
end


function commands.set(self, message)
    self.scripts[message.side].env[message.name] = message.value
    return true
end


function commands.set_addr(self, message)
    self.addresses[message.side] = message.text
    return true
end


-- Runs init() of all sides.
function commands.init(self)
    for i, spec in ipairs(self.job.sides) do
        local one = self.scripts[i - 1]
        local env = one.env
        env.wrk.thread = own_thread.new(self, i - 1, function(index)
            return self.sides and self.sides[index]
        end)
        local args = { [0] = spec.url }
        for k, v in ipairs(spec.args or {}) do
            args[k] = v
        end
        guarded(self, i - 1, "init", INIT, env.wrk.init, args)
    end
    return true
end


-- Asks request() once, as wrk does on its first thread, for how many requests it returns.
function commands.verify(self, message)
    local one = self.scripts[message.side]
    local env = one.env
    local dynamic = type(env.request) == "function"
    local answer = { batch = not dynamic and self.job.pipeline or 1, dynamic = dynamic }
    local ok, text = guarded(self, message.side, "request", 1, dynamic and env.request
        or env.wrk.request or env.wrk.format)
    local is_http = self.job.protocol ~= "websocket"
    if ok and dynamic and is_http and type(text) == "string" and text ~= "" then
        local count, err = wrk.count(text)
        answer.batch = count or 1
        if not count then
            report(self, err, "request", message.side)
        end
    end
    return answer
end


-- Makes the sides and connects.
function commands.connect(self, message)
    self.sides = {}
    for i in ipairs(self.job.sides) do
        local index = i - 1
        local side, err = sides.new(self, index)
        if not side then
            return { problem = err }
        end
        if self.addresses[index] then
            local address = socket.address(self.addresses[index])
            side.addresses = address and { address } or side.addresses
        end
        local one = self.scripts[index]
        one:attach(side, self.job)
        if (self.job.protocol or "http1") == "h2" then
            local ok, problem = require("moonlap.load.h2").attach(side, self.job.pipeline or 1)
            if not ok then
                return { problem = problem }
            end
        elseif self.job.protocol == "websocket" then
            require("moonlap.load.websocket").attach(side, one.env.wrk, side.request ~= nil)
        end
        side.batch = side.streams > 0 and 1 or message.batches[index] or side.batch
        side.no_request = no_request
        if type(one.env.delay) == "function" then
            side.delay = new_delay(self, one.env)
        end
        one.on_check = function(_, why)
            counters.error(side.counters, "check", type(why) == "string" and why
                or "check() returned false")
        end
        self.sides[index] = side
    end
    self.side = self.sides[0]
    vm.relax_collector()
    local t = now()
    for i = 0, self.last_conn do
        local conn = self.conns[i]
        conn.user = { id = i }
        connection.connect(self, conn, t)
    end
    -- Until all are open, or have failed once.
    local limit = t + math.min(self.timeout_ns, 5e9)
    self.finished, self.deadline = false, 0
    self.on_idle = function(_, at)
        local open = true
        for i = 0, self.last_conn do
            local conn = self.conns[i]
            open = open and (conn.state == connection.OPEN or conn.tries > 0)
        end
        self.finished = open or at >= limit
        self.deadline = at + 1e6
        return self.finished
    end
    self.on_deadline = function() return false end
    protect(self, loop.run)
    for i in pairs(self.sides) do
        self.sides[i].failed_early = self.sides[i].counters.errors
    end
    send_line(self, {
        type = "load_thread", thread = self.thread, pid = self.pid, vm = jit.version,
        compiled = jit.status() and true or false, connections = self.sides[0].connections,
    })
    return true
end


function commands.go(self, message)
    if self.pipe:take() then -- it came together with its end
        self.stopped, self.hurry, message.ns = true, true, 0
    end
    self.hook[1] = message.side
    period.run(self, message)
    return { stopped = self.stopped, quota = self.side.quota }
end


-- Ends: what is said once a run.
function commands.finish(self)
    local totals = {}
    for i, side in pairs(self.sides or {}) do
        for _, line in ipairs(counters.error_lines(side.counters, self.thread, i)) do
            send_line(self, line)
        end
        totals[i] = counters.totals(side.counters)
    end
    return { totals = totals, switches = kernel.switches() }
end


-- os.exit in a script ends the run, not the report.
local function watch_exit(self)
    local exit = os.exit
    os.exit = function(status) -- luacheck: ignore 122
        local info = debug.getinfo(2, "Sl")
        local line = script.error_line(("os.exit(%s)"):format(tostring(status or "")),
            _M.HOOKS[self.hook[0]] or "load", self.side and self.side.index or 0, self.thread,
                "exit")
        line.file, line.line, line.status = info.short_src, info.currentline, tonumber(status) or 0
        send_line(self, line)
        if self.period then
            period.close(self)
        end
        self.pipe:send { op = "exit", status = line.status }
        exit(0)
    end
end


--- Serves the coordinator until it has no more to say.
-- @tparam table pipe to the coordinator
-- @tparam table job
-- @tparam int thread its number
-- @tparam cdata turns counts the loop's turns, in memory that the coordinator sees
-- @tparam cdata hook the number of the hook that is under way, likewise
function _M.main(pipe, job, thread, turns, hook)
    local self = {
        pipe = pipe, job = job, thread = thread, turns = turns, hook = hook, pid = kernel.pid(),
        timeout_ns = job.timeout_ns or 2e9, last_conn = -1, addresses = {}, reported = {},
            reports = 0,
        lag = lines.histogram(), protect = protect, begin_all = begin_all, stopped = false,
    }
    self.send_line = function(line)
        send_line(self, line)
    end
    self.on_control = function(mask)
        if bit.band(mask, EPOLLIN) == 0 then
            return -- it can be written to
        elseif not pipe:fill() then
            os.exit(1) -- the coordinator is gone
        end
        local text = pipe:take()
        if text then
            self.stopped, self.hurry = true, true
            period.cut_short(self)
        end
    end
    kernel.wake_on_time()
    vm.allow_long_traces()
    local online, allowed = kernel.processors()
    self.may_spin = job.threads < online and job.threads <= allowed
    loop.init(self)
    socket.watch(self.epoll, pipe.fd, loop.CONTROL, 0)
    watch_exit(self)
    while true do
        local message = pipe:receive()
        if not message or message.op == "end" then
            return
        end
        local command = commands[message.op]
        if command then
            local ok, answer = xpcall(command, debug.traceback, self, message)
            io.stdout:flush()
            if not ok then
                pipe:send { op = "broken", text = answer }
            else
                local sent, err = pipe:send { op = "answer", answer = answer }
                if not sent then
                    pipe:send { op = "answer", problem = err }
                end
            end
        end
    end
end


return _M

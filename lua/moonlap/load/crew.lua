--- The threads of a run as the coordinator sees them: started, asked, waited for, ended.
-- @module moonlap.load.crew
local kernel = require "moonlap.load.kernel"
local pipe = require "moonlap.load.pipe"
local script = require "moonlap.load.script"
local thread = require "moonlap.load.thread"
local value = require "moonlap.load.value"

local _M = {}
local mt = { __index = _M }

local now = kernel.now
local POLLIN = 1
local LINE = 76 -- L: what follows is a line for Go
local POLL_MS = 100
local PATIENCE = 6 -- init() and the file itself may take that many times longer than other hooks
local PATIENT = { load = true, init = true }
local AWAY = 1e9   -- ns that this process stood still: the threads may have too
local STARVED = 0.2 -- the share of a processor below which a thread that runs had no chance


--- ns that the file itself, setup(), init() and done() may take.
function _M:patience_ns()
    return self.hang_ns * PATIENCE
end


--- Starts the threads' processes.
-- @tparam table job
-- @tparam function write takes a line for Go: a text, or a table
-- @treturn table the crew; or nil and why not
function _M.start(job, write)
    local self = setmetatable({
        job = job, write = write, members = {}, lost = 0, interrupted = false, exited = nil,
        signals = kernel.interrupts(), hang_ns = job.hang_ns or 5e9,
    }, mt)
    io.stdout:flush()
    for i = 0, job.threads - 1 do
        local ours, theirs = pipe.pair()
        if not ours then
            return nil, theirs
        end
        local page = kernel.shared_page()
        local pid = kernel.fork()
        if pid == 0 then
            kernel.ignore_signals()
            ours:close()
            for _, member in pairs(self.members) do
                member.pipe:close()
            end
            require("moonlap.bench.limits").apply(job.memory_bytes)
            local ok, err = xpcall(thread.main, debug.traceback, theirs, job, i, page, page + 1)
            if not ok then
                theirs:send { op = "broken", text = tostring(err) }
            end
            io.stdout:flush()
            os.exit(ok and 0 or 1)
        elseif pid < 0 then
            return nil, "no more processes can be started"
        end
        theirs:close()
        self.members[i] = { index = i, pid = pid, pipe = ours, page = page, busy = false,
            alive = true }
    end
    return self
end


-- A thread is no more: what it has sent stands.
local function lose(self, member, kind, text)
    member.alive, member.busy = false, false
    self.lost = self.lost + 1
    local hook, side = thread.HOOKS[member.page[1]] or "thread", member.page[2]
    local line = script.error_line(text, hook, side, member.index, kind)
    if not line.file and self.place then
        line.file, line.line = self.place(side, hook)
    end
    self.write(line)
end


local function on_end(self, member)
    local signal, status = kernel.reap(member.pid)
    if member.exited then
        member.alive, member.busy = false, false
        self.lost = self.lost + 1
        return
    end
    lose(self, member, "crash", signal ~= 0
        and ("the thread's process was ended by signal %d"):format(signal)
        or ("the thread's process ended with status %d"):format(status))
end


local function on_message(self, member, message)
    if message.op == "answer" then
        member.busy, member.answer, member.problem = false, message.answer, message.problem
    elseif message.op == "exit" then
        member.exited, self.exited = true, message.status
    elseif message.op == "broken" then
        member.exited = true
        self.write {
            type = "load_script", thread = member.index, side = 0, hook = "engine",
                kind = "error", text = message.text,
        }
        kernel.kill(member.pid)
        member.alive, member.busy = false, false
        self.lost = self.lost + 1
    end
end


-- Whether a thread had no chance to turn its loop: it was stopped, or the machine is busy.
local function had_no_chance(member, t)
    if kernel.is_stopped(member.pid) then
        return true
    end
    local used = (kernel.cpu_of(member.pid) or 0) - member.cpu
    return kernel.is_runnable(member.pid) and used < STARVED * (t - member.turned)
end


-- Ends threads whose loop has not turned for too long: a hook that does not return.
local function check_turns(self, member, t, patience)
    local turns = member.page[0]
    local over = t - member.turned > self.hang_ns * patience
    if turns ~= member.turns or over and had_no_chance(member, t) then
        member.turns, member.turned, member.cpu = turns, t, kernel.cpu_of(member.pid) or 0
    elseif over then
        kernel.kill(member.pid)
        lose(self, member, "hang",
            ("has not returned for %.0f s"):format(self.hang_ns * patience / 1e9))
    end
end


-- Hears what threads and signals say.
local function listen(self, patience)
    local fds, members = {}, {}
    for _, member in pairs(self.members) do
        if member.alive then
            fds[#fds + 1], members[#members + 1] = member.pipe.fd, member
        end
    end
    fds[#fds + 1] = self.signals
    for _, i in ipairs(kernel.poll(fds, POLLIN, POLL_MS)) do
        local member = members[i]
        if not member then
            self:interrupt()
        elseif not member.pipe:fill() then
            on_end(self, member)
        else
            local text = member.pipe:take()
            while text do
                if text:byte() == LINE then
                    self.write(text:sub(2))
                else
                    on_message(self, member, value.decode(text))
                end
                text = member.pipe:take()
            end
        end
    end
    local t = now()
    local away = t - self.listened
    self.listened = t
    for _, member in pairs(self.members) do
        if member.alive and member.busy then
            if away > AWAY then -- the whole machine, or all of us, stood still
                member.turned = member.turned + away
            end
            check_turns(self, member, t, patience)
        end
    end
end


--- SIGINT or SIGTERM has come: the period under way ends.
function _M:interrupt()
    kernel.forget_signal(self.signals)
    self.interrupted = true
    self:stop()
end


--- Ends the period under way.
function _M:stop()
    for _, member in pairs(self.members) do
        if member.alive and member.busy and member.going then
            member.pipe:send { op = "stop" }
        end
    end
end


--- Waits until no thread is busy.
-- @tparam[opt=1] number patience how many times longer than a hook's time they may take
function _M:wait(patience)
    patience = patience or 1
    self.listened = now()
    while true do
        local busy = false
        for _, member in pairs(self.members) do
            busy = busy or member.alive and member.busy
        end
        if not busy then
            return
        end
        listen(self, patience)
    end
end


local function post(member, message)
    if not member.alive then
        return
    end
    member.busy, member.answer, member.problem, member.going = true, nil, nil, message.op == "go"
    member.turns, member.turned = member.page[0], now()
    member.cpu = kernel.cpu_of(member.pid) or 0
    local ok, err = member.pipe:send(message)
    if not ok then
        member.busy, member.problem = false, err
    end
end


--- Asks one thread, and waits for its answer.
-- @treturn table the answer; nil when the thread is gone
-- @treturn string what is wrong with the question or the answer
function _M:ask(index, message)
    local member = self.members[index]
    io.stdout:flush() -- so that what is printed keeps its order
    post(member, message)
    self:wait(PATIENT[message.op] and PATIENCE)
    return member.answer, member.problem
end


--- Asks all threads at once.
-- @treturn table their answers by thread
function _M:ask_all(message, patience)
    for _, member in pairs(self.members) do
        post(member, message)
    end
    if message.op == "go" and self.interrupted then
        self:stop()
    end
    self:wait(patience)
    local answers = {}
    for i, member in pairs(self.members) do
        answers[i] = member.answer
    end
    return answers
end


--- True while a thread is left.
function _M:any()
    for _, member in pairs(self.members) do
        if member.alive then
            return true
        end
    end
    return false
end


--- Ends all threads.
function _M:close()
    for _, member in pairs(self.members) do
        if member.alive then
            member.pipe:send { op = "end" }
            kernel.reap(member.pid)
            member.alive = false
        end
    end
end


return _M

-- Does `moonlap profile --stalls` find what blocks the event loop, and nothing else?
--
--     moonlap run benchmarks/probe/blocked.lua bin/moonlap [SECONDS]
--
-- A worker has itself profiled while it stops its own event loop: for 1, 10 and 100 ms, by seven
-- causes, each from a file and line of its own, with turns of the loop in between. Then it waits by
-- ngx.sleep and by cosockets, which must not be told. Printed is, for each cause and time: how many
-- of the blocks lie in a turn that was told and is at least so long, how many of these turns name
-- the line, how much longer than by the worker's own clock they are, and what was named.
local program, seconds = arg[1] or "moonlap", tonumber(arg[2]) or 40
local json = require "cjson.safe"
local ffi = require "ffi"
ffi.cdef [[
    typedef struct { long seconds, nanoseconds; } blocked_time;
    int clock_gettime(int, blocked_time *);
    int nanosleep(const blocked_time *, blocked_time *);
    int usleep(unsigned);
    int poll(void *, unsigned long, int);
    int open(const char *, int, ...);
    int flock(int, int);
    int close(int);
]]
local C = ffi.C

local instant = ffi.new("blocked_time")
local function clock() -- s, of the same clock as the profile's
    C.clock_gettime(1, instant)
    return tonumber(instant.seconds) + tonumber(instant.nanoseconds) * 1e-9
end

local locked = os.tmpname()

-- Each blocks in its line 2, for so many milliseconds; prepare, where there is one, comes before,
-- in a turn of its own.
local causes = {
    { name = "os.execute", code = [[return function(ms)
        os.execute("sleep " .. ms / 1000) end]] },
    { name = "nanosleep", code = [[local C, t = ... return function(ms) t.nanoseconds = ms * 1e6
        C.nanosleep(t, nil) end]] },
    { name = "usleep in a trace", code = [[local C = ... return function(ms)
        for _ = 1, 10 do C.usleep(ms * 100) end end]] },
    { name = "poll", code = "local C = ... return function(ms)\n C.poll(nil, 0, ms) end" },
    { name = "flock", code = "local C, _, file = ... return function()\n C.flock(file(), 2) end",
        prepare = function(ms)
            local hold = "flock %s sh -c 'echo; sleep %g'"
            local holder = io.popen(hold:format(locked, ms / 1000 + 0.002))
            holder:read("*l")
            return holder
        end },
    { name = "read of a pipe", code = [[local _, _, pipe = ... return function()
        pipe():read("*l") end]],
        prepare = function(ms) return io.popen(("sleep %g; echo"):format(ms / 1000 + 0.002)) end },
    { name = "busy loop", code = [[local _, _, _, clock = ...
        return function(ms) local e = clock() + ms / 1000 repeat until clock() >= e end]] },
}
local times = { { ms = 1, count = 30 }, { ms = 10, count = 30 }, { ms = 100, count = 10 } }

local out = os.tmpname()
local command = "%s profile --pid %d --duration %ds --stalls 900us --hz 999 --format json --out %s"
command = command:format(program, ngx.worker.pid(), seconds, out)
local profiler = io.popen(command .. " >/dev/null 2>&1; touch " .. out .. ".done")
ngx.sleep(3) -- until the programs are in the kernel

-- plant has one cause block for so many milliseconds, again and again, and returns when it did.
local descriptor
local function plant(cause, time)
    local held
    local file = ("%s_%dms.lua"):format(cause.name:gsub("%W", "_"), time.ms)
    local run = assert(loadstring(cause.code, "@" .. file))(C, ffi.new("blocked_time"), function()
        return cause.name == "flock" and descriptor or held
    end, clock)
    local planted = { cause = cause.name, file = file, ms = time.ms, starts = {}, lengths = {} }
    for i = 1, time.count do
        held = cause.prepare and cause.prepare(time.ms)
        descriptor = C.open(locked, 0)
        ngx.sleep(0.001)
        local start = clock()
        run(time.ms)
        planted.starts[i], planted.lengths[i] = start, clock() - start
        ngx.sleep(0.001)
        C.close(descriptor)
        if held then held:close() end
    end
    return planted
end

local began = clock()
local all = {}
for _, cause in ipairs(causes) do
    for _, time in ipairs(times) do
        all[#all + 1] = plant(cause, time)
    end
end
os.remove(locked)
local spent = clock() - began

-- The rest of the time gives way to the loop, from files of their own, too: by ngx.sleep, and by a
-- cosocket that nobody sends to.
local waits = 0
local sleep = loadstring("return function()\n ngx.sleep(0.01) end", "@ngx_sleep.lua")()
local receive = loadstring("local s = ... return function()\n s:receive(1) end", "@cosocket.lua")
local silent = ngx.socket.udp()
assert(silent:setpeername("127.0.0.1", 9)) -- discard
silent:settimeout(10)
receive = receive(silent)
local finished
repeat
    sleep()
    receive()
    waits = waits + 1
    finished = io.open(out .. ".done")
until finished
finished:close()
profiler:close()
local profile = assert(json.decode(io.open(out):read("*a")))
os.remove(out)
os.remove(out .. ".done")

local function quantile(list, q)
    table.sort(list)
    return list[math.max(1, math.ceil(q * #list))] or 0
end

-- What was told of waits that give way: a turn, or a sleep.
local wrong = 0
local function waiting(line)
    return line:find("@ngx_sleep.lua:", 1, true) or line:find("@cosocket.lua:", 1, true)
end
local stalls, calls = profile.found.stalls, {}
for _, stall in ipairs(stalls) do
    local line = stall.lines[1]
    if line and waiting(line.name) and stall.slept_ns > 0 then wrong = wrong + 1 end
end
for _, block in ipairs(profile.found.blocks) do
    if waiting(block.line) then wrong = wrong + block.count end
    local file = block.line:match("@(%S+%.lua):%d+$")
    if file and (not calls[file] or calls[file].total_ns < block.total_ns) then
        calls[file] = block
    end
end

-- told is the turn of the event loop that a block was in.
local function told(start, length)
    for _, stall in ipairs(stalls) do
        local from = (profile.found.times.began_ns + stall.start_ns) * 1e-9
        local to = from + stall.length_ns * 1e-9
        if from <= start and to >= start + length then return stall end
    end
end

print("| cause | planted | found | exact line | longer by, median | named as |")
print("| --- | --- | --- | --- | --- | --- |")
local count, found, exact = 0, 0, 0
for _, planted in ipairs(all) do
    local turns, lines, beyond = 0, 0, {}
    local least = planted.ms * 1e-3
    local long = 0 -- what was to end the block may have been early
    for i, start in ipairs(planted.starts) do
        local stall = told(start, planted.lengths[i])
        if planted.lengths[i] >= least then long = long + 1 end
        if planted.lengths[i] >= least and stall and stall.length_ns * 1e-9 >= least then
            turns = turns + 1
            beyond[#beyond + 1] = stall.length_ns * 1e-6 - planted.lengths[i] * 1e3
            local line = stall.lines[1] and stall.lines[1].name or ""
            if line:find("@" .. planted.file .. ":2", 1, true) then lines = lines + 1 end
        end
    end
    count, found, exact = count + long, found + turns, exact + lines
    local call = calls[planted.file]
    call = call and ("%s, %s (%s)"):format(call.called, call.cause, call.system_call)
    local row = "| %s | %d × %d ms | %d | %d | %.2f ms | %s |"
    print(row:format(planted.cause, long, planted.ms, turns, lines, quantile(beyond, 0.5),
        call or "computing"))
end
print(("\n%d of %d found in %.0f s, %d with the exact line."):format(found, count, spent, exact))
print(("%d waits by ngx.sleep and by a cosocket, %d of them told."):format(2 * waits, wrong))
print(("%d turns, %d sleeps, %d of them without a stack."):format(profile.found.event_loop.turns,
    profile.found.times.sleeps, profile.found.times.sleeps_without_stack))

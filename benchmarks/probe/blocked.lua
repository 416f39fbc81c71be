-- Does `moonlap profile --stalls` find what blocks the event loop, and nothing else?
--
--     moonlap run --http-conf 'lua_socket_log_errors off;' benchmarks/probe/blocked.lua \
--         bin/moonlap [SECONDS]
--
-- A worker has itself profiled while it stops its own event loop: for 1, 10 and 100 ms, by nine
-- causes, and for as long as a disk takes, by three, each from a file and line of its own, with
-- turns of the loop in between. Then it waits by ngx.sleep, by a timer and by a cosocket, which
-- must not be told. It takes lua-socket, and a working folder on a disk. Printed is, for each cause
-- and time: how many of the blocks lie in a turn that was told and is at least so long, how many of
-- these turns name the line, how much longer than by the worker's own clock they are, and what was
-- named.
local program, seconds = arg[1] or "moonlap", tonumber(arg[2]) or 45
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
    int fsync(int);
    long write(int, const void *, unsigned long);
    int posix_fadvise(int, long, long, int);
    void *mmap(void *, unsigned long, int, int, int, long);
    int munmap(void *, unsigned long);
    int pthread_create(unsigned long *, void *, void *, void *);
    int pthread_join(unsigned long, void *);
    int pthread_mutex_lock(void *);
    int pthread_mutex_timedlock(void *, const blocked_time *);
]]
local C = ffi.C

local instant = ffi.new("blocked_time")
local function clock() -- s, of the same clock as the profile's
    C.clock_gettime(1, instant)
    return tonumber(instant.seconds) + tonumber(instant.nanoseconds) * 1e-9
end

local locked = os.tmpname()

-- A mutex that another thread has locked, and has not unlocked before it ended.
local mutex = ffi.new("char[64]")
do
    local thread = ffi.new("unsigned long[1]")
    local lock = ffi.cast("void *", C.pthread_mutex_lock)
    assert(C.pthread_create(thread, nil, lock, mutex) == 0)
    C.pthread_join(thread[0], nil)
end

-- A file on the disk of the working folder, of which nothing is in memory when it is opened again.
local big, size = "blocked.tmp", 16 * 2 ^ 20
local function dropped()
    local descriptor = C.open(big, 2)
    C.fsync(descriptor)
    assert(C.posix_fadvise(descriptor, 0, 0, 4) == 0)
    return descriptor
end
do
    local f = assert(io.open(big, "w"))
    assert(f:write(("x"):rep(size)))
    f:close()
end

-- A server that takes connections and says nothing.
local socket = require "socket"
local server = assert(socket.bind("127.0.0.1", 0))
local client = socket.tcp()
assert(client:connect("127.0.0.1", (select(2, server:getsockname()))))

-- Each blocks in its line 2, for so many milliseconds or for as long as it takes; prepare, where
-- there is one, comes before, in a turn of its own.
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
    { name = "LuaSocket", code = [[local _, _, socket = ... return function()
        socket():receive("*l") end]],
        prepare = function(ms) client:settimeout((ms + 1) / 1000) return client end },
    { name = "mutex", code = [[local C, t, mutex = ... return function()
        C.pthread_mutex_timedlock(mutex(), t) end]],
        prepare = function() return mutex end,
        last = function(ms, t) -- until when, by the clock of the day
            C.clock_gettime(0, t)
            local ns = t.nanoseconds + ms * 1e6
            t.seconds, t.nanoseconds = t.seconds + ns / 1e9, ns % 1e9
        end },
    { name = "fsync", disk = true, code = [[local C, _, fd = ... return function()
        C.fsync(fd()) end]],
        prepare = function()
            local descriptor = C.open(big, 2)
            C.write(descriptor, ffi.new("char[?]", size), size)
            return descriptor
        end },
    { name = "read from disk", disk = true, code = [[local _, _, file = ... return function()
        file():read("*a") end]],
        prepare = function()
            C.close(dropped())
            return io.open(big)
        end },
    { name = "page fault", disk = true, code = [[local C, size, at = ... return function()
        local p, n = at(), 0 for i = 0, size - 1, 4096 do n = n + p[i] end return n end]],
        prepare = function()
            local fd = dropped()
            local pages = ffi.cast("char *", C.mmap(nil, size, 1, 1, fd, 0))
            C.close(fd)
            return pages
        end },
    { name = "busy loop", code = [[local _, _, _, clock = ...
        return function(ms) local e = clock() + ms / 1000 repeat until clock() >= e end]] },
}
local times = { { ms = 1, count = 30 }, { ms = 10, count = 30 }, { ms = 100, count = 10 } }

local out = os.tmpname()
local shortest = 900e-6 -- s, of the turns that are reported
local command = "%s profile --pid %d --duration %ds --stalls 900us --hz 999 --format json --out %s"
command = command:format(program, ngx.worker.pid(), seconds, out)
local profiler = io.popen(command .. " >/dev/null 2>&1; touch " .. out .. ".done")
ngx.sleep(3) -- until the programs are in the kernel

-- plant has one cause block for so many milliseconds, again and again, and returns when it did.
local descriptor
local function plant(cause, time)
    local held
    local file = ("%s_%s.lua"):format(cause.name:gsub("%W", "_"), time.ms or "disk")
    local till = ffi.new("blocked_time")
    local second = cause.name == "page fault" and size or till
    local run = assert(loadstring(cause.code, "@" .. file))(C, second, function()
        return cause.name == "flock" and descriptor or held
    end, clock)
    local planted = { cause = cause.name, file = file, ms = time.ms, starts = {}, lengths = {} }
    for i = 1, time.count do
        held = cause.prepare and cause.prepare(time.ms)
        descriptor = C.open(locked, 0)
        ngx.sleep(0.001)
        if cause.last then cause.last(time.ms, till) end
        local start = clock()
        run(time.ms)
        planted.starts[i], planted.lengths[i] = start, clock() - start
        ngx.sleep(0.001)
        C.close(descriptor)
        if cause.name == "page fault" then
            C.munmap(held, size)
        elseif cause.name == "fsync" then
            C.close(held)
        elseif io.type(held) then
            held:close()
        end
    end
    return planted
end

local began = clock()
local all = {}
for _, cause in ipairs(causes) do
    for _, time in ipairs(cause.disk and { { count = 20 } } or times) do
        all[#all + 1] = plant(cause, time)
    end
end
os.remove(locked)
os.remove(big)
client:close()
server:close()
local spent = clock() - began

-- The rest of the time gives way to the loop, from files of their own, too: by ngx.sleep, a timer,
-- and a cosocket that nobody sends to.
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
    local fired = false
    assert(ngx.timer.at(0.01, function() fired = true end))
    repeat ngx.sleep(0.005) until fired
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
    local least = planted.ms and planted.ms * 1e-3 or shortest
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
    local name = call and call.called ~= "" and call.called .. ", " or ""
    call = call and ("%s%s (%s)"):format(name, call.cause, call.system_call)
    local row = "| %s | %d × %s ms | %d | %d | %.2f ms | %s |"
    local length = planted.ms or ("%.1f"):format(1e3 * quantile(planted.lengths, 0.5))
    print(row:format(planted.cause, long, length, turns, lines, quantile(beyond, 0.5),
        call or "computing"))
end
print(("\n%d of %d found in %.0f s, %d with the exact line."):format(found, count, spent, exact))
print(("%d waits by ngx.sleep, a timer and a cosocket, %d of them told."):format(3 * waits, wrong))
print(("%d turns, %d sleeps, %d of them without a stack."):format(profile.found.event_loop.turns,
    profile.found.times.sleeps, profile.found.times.sleeps_without_stack))

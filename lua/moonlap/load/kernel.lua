--- System calls of the load engine, as compiled code can call them: each returns its result, or
-- the negative number of the error.
--
-- On x86-64 they are a few bytes of machine code mapped at start. They return by `pop` and `jmp`:
-- the first `ret` after a system call is mispredicted where the kernel guards itself against
-- Speculative Return Stack Overflow, which costs up to 0.3 µs (benchmarks/uv, "The way back from
-- the kernel"). Elsewhere libc's functions do it.
-- @module moonlap.load.kernel
local bit = require "bit"
local ffi = require "ffi"

local _M = {}

local C = ffi.C

ffi.cdef [[
typedef struct __attribute__((packed)) {
    uint32_t mask;      // EPOLLIN …
    uint32_t id;        // number of the connection
    uint32_t made;      // how many sockets the connection had before this one
} moonlap_load_event;
typedef struct { int64_t sec, nsec; } moonlap_load_timespec;

int moonlap_load_read(int, void *, size_t) __asm__("read");
int moonlap_load_recv(int, void *, size_t, int) __asm__("recv");
int moonlap_load_send(int, const void *, size_t, int) __asm__("send");
int moonlap_load_epoll_wait(int, moonlap_load_event *, int, int) __asm__("epoll_wait");
int moonlap_load_epoll_pwait2(int, moonlap_load_event *, int, const moonlap_load_timespec *,
    const void *)
    __asm__("epoll_pwait2");
int moonlap_load_clock(int, moonlap_load_timespec *) __asm__("clock_gettime");
void *moonlap_load_mmap(void *, size_t, int, int, int, long) __asm__("mmap");
int moonlap_load_mprotect(void *, size_t, int) __asm__("mprotect");
int moonlap_load_prctl(int, unsigned long, unsigned long, unsigned long,
    unsigned long) __asm__("prctl");
int moonlap_load_getrusage(int, int64_t *) __asm__("getrusage");
typedef struct { int fd; short events, revents; } moonlap_load_pollfd;
int moonlap_load_poll(moonlap_load_pollfd *, unsigned long, int) __asm__("poll");
int moonlap_load_affinity(int, size_t, uint64_t *) __asm__("sched_getaffinity");
long moonlap_load_sysconf(int) __asm__("sysconf");
int moonlap_load_getpid(void) __asm__("getpid");
int moonlap_load_fork(void) __asm__("fork");
int moonlap_load_waitpid(int, int *, int) __asm__("waitpid");
int moonlap_load_kill(int, int) __asm__("kill");
void *moonlap_load_signal(int, void *) __asm__("signal");
int moonlap_load_sigprocmask(int, const uint64_t *, uint64_t *) __asm__("sigprocmask");
int moonlap_load_signalfd(int, const uint64_t *, int) __asm__("signalfd");
]]

local SENDTO, RECVFROM, EPOLL_PWAIT2 = 44, 45, 441
local PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
local MAP_PRIVATE, MAP_ANONYMOUS = 2, 0x20
local PR_SET_TIMERSLACK = 29
local MSG_NOSIGNAL = 0x4000
local ENOSYS = 38


--- Whether this process keeps a second stack of return addresses: it would not survive our jump.
local function has_shadow_stack()
    local file = io.open "/proc/self/status"
    local text = file and file:read "*a" or ""
    if file then
        file:close()
    end
    return text:find "x86_Thread_features:[^\n]*shstk" ~= nil
end


-- Machine code of the system calls that the hot path makes, or nil.
--     mov eax, number / mov r10, rcx / syscall / pop rcx / jmp rcx
local function map_calls()
    if jit.arch ~= "x64" or jit.os ~= "Linux" or has_shadow_stack() then
        return nil
    end
    local page = C.moonlap_load_mmap(nil, 4096, bit.bor(PROT_READ, PROT_WRITE),
        bit.bor(MAP_PRIVATE, MAP_ANONYMOUS), -1, 0)
    if ffi.cast("intptr_t", page) == -1 then
        return nil
    end
    local bytes = ffi.cast("uint8_t *", page)
    local at = 0
    local function call(number, kind)
        local code = "\184" .. ffi.string(ffi.new("int32_t[1]", number), 4)
            .. "\73\137\202\15\5\89\255\225"
        ffi.copy(bytes + at, code, #code)
        at = at + 16
        return ffi.cast(kind, bytes + at - 16)
    end
    local calls = {
        receive = call(RECVFROM, "int (*)(int, void *, size_t, int, void *, void *)"),
        send = call(SENDTO, "int (*)(int, const void *, size_t, int, void *, size_t)"),
        wait = call(EPOLL_PWAIT2, [[int (*)(int, moonlap_load_event *, int,
            const moonlap_load_timespec *,
            const void *, size_t)]]),
    }
    if C.moonlap_load_mprotect(page, 4096, bit.bor(PROT_READ, PROT_EXEC)) ~= 0 then
        return nil -- this system forbids mapping machine code
    end
    return calls
end


local calls = map_calls()
local timespec = ffi.new "moonlap_load_timespec"
local pause = ffi.new "moonlap_load_timespec"


--- CLOCK_MONOTONIC in ns: the same in all processes of this machine.
function _M.now()
    C.moonlap_load_clock(1, timespec)
    return tonumber(timespec.sec) * 1e9 + tonumber(timespec.nsec)
end


--- CPU time of this thread, user and system, in ns.
function _M.cpu()
    C.moonlap_load_clock(3, timespec)
    return tonumber(timespec.sec) * 1e9 + tonumber(timespec.nsec)
end


--- CPU time of another process, in ns; nil when it cannot be read.
-- @tparam int pid
function _M.cpu_of(pid)
    -- MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of the kernel
    local id = bit.bor(bit.lshift(bit.bnot(pid), 3), 2)
    if C.moonlap_load_clock(id, timespec) ~= 0 then
        return nil
    end
    return tonumber(timespec.sec) * 1e9 + tonumber(timespec.nsec)
end


-- The letter that /proc has for what a process does: R, S, D, T …, or nil.
local function state_of(pid)
    local file = io.open("/proc/" .. pid .. "/stat")
    local text = file and file:read "*a"
    if file then
        file:close()
    end
    return text and text:match "^.*%) (%a)"
end


--- Whether a process is stopped, by a signal or a debugger.
function _M.is_stopped(pid)
    local state = state_of(pid)
    return state == "T" or state == "t"
end


--- Whether a process runs, or would if there were a processor for it.
function _M.is_runnable(pid)
    return state_of(pid) == "R"
end


--- How many processors this machine has, and how many of them this process may use.
function _M.processors()
    local _SC_NPROCESSORS_ONLN = 84
    local online = tonumber(C.moonlap_load_sysconf(_SC_NPROCESSORS_ONLN))
    local set = ffi.new "uint64_t[128]"
    if C.moonlap_load_affinity(0, ffi.sizeof(set), set) < 0 then
        return online, online
    end
    local allowed = 0
    for i = 0, 127 do
        local word = set[i]
        while word ~= 0 do
            word = bit.band(word, word - 1)
            allowed = allowed + 1
        end
    end
    return online, allowed
end


--- Involuntary context switches of this process so far.
function _M.switches()
    local usage = ffi.new "int64_t[18]"
    C.moonlap_load_getrusage(0, usage)
    return tonumber(usage[17])
end


-- poll(2)'s grain of a millisecond is too coarse for a rate, so epoll_pwait2, which Linux has
-- since 5.11.
local function has_pwait2()
    return pcall(function() return C.moonlap_load_epoll_pwait2 end)
        and not (C.moonlap_load_epoll_pwait2(-1, nil, 1, nil, nil) < 0 and ffi.errno() == ENOSYS)
end

_M.precise = has_pwait2()

if calls and _M.precise then
    local receive, send, wait = calls.receive, calls.send, calls.wait

    --- recv(2): read(2) goes through the file system's checks first.
    function _M.receive(fd, buffer, size)
        return receive(fd, buffer, size, 0, nil, nil)
    end

    --- send(2) without SIGPIPE.
    function _M.send(fd, data, size)
        return send(fd, data, size, MSG_NOSIGNAL, nil, 0)
    end

    --- Waits for events, at most so many ns; less than 0 waits for good.
    function _M.wait(fd, events, most, ns)
        if ns < 0 then
            return wait(fd, events, most, nil, nil, 0)
        end
        local seconds = math.floor(ns / 1e9)
        pause.sec, pause.nsec = seconds, ns - seconds * 1e9
        return wait(fd, events, most, pause, nil, 0)
    end
else
    local function result(n)
        return n < 0 and -ffi.errno() or n
    end

    function _M.receive(fd, buffer, size)
        return result(C.moonlap_load_recv(fd, buffer, size, 0))
    end

    function _M.send(fd, data, size)
        return result(C.moonlap_load_send(fd, data, size, MSG_NOSIGNAL))
    end

    function _M.wait(fd, events, most, ns)
        if ns < 0 then
            return result(C.moonlap_load_epoll_wait(fd, events, most, -1))
        elseif not _M.precise then -- rather early than late: the caller asks for the time again
            return result(C.moonlap_load_epoll_wait(fd, events, most, math.floor(ns / 1e6)))
        end
        local seconds = math.floor(ns / 1e9)
        pause.sec, pause.nsec = seconds, ns - seconds * 1e9
        return result(C.moonlap_load_epoll_pwait2(fd, events, most, pause, nil))
    end
end


--- Whether the calls of the hot path are our own machine code.
_M.mapped = calls ~= nil and _M.precise


function _M.pid()
    return C.moonlap_load_getpid()
end


--- Starts a process as this one is: 0 in the new one, its number in this one.
function _M.fork()
    return C.moonlap_load_fork()
end


--- Ends a process at once, and waits for its end.
function _M.kill(pid)
    C.moonlap_load_kill(pid, 9)
    return _M.reap(pid)
end


--- Asks the kernel to end this process with its parent.
function _M.die_with_parent()
    C.moonlap_load_prctl(1, 9, 0, 0, 0)
end


--- Children that end are not waited for.
function _M.leave_children()
    C.moonlap_load_signal(17, ffi.cast("void *", 1))
end


--- Waits for the end of a child.
-- @treturn int the signal that ended it, 0 for none
-- @treturn int its exit status
function _M.reap(pid)
    local status = ffi.new "int[1]"
    while C.moonlap_load_waitpid(pid, status, 0) < 0 and ffi.errno() == 4 do -- luacheck: ignore
    end
    return bit.band(status[0], 127), bit.band(bit.rshift(status[0], 8), 255)
end


--- Waits for one of some descriptors: poll(2).
-- @tparam table fds a list of descriptors
-- @tparam int events POLLIN (1) or POLLOUT (4)
-- @tparam int ms at most
-- @treturn table the indexes of those that are ready, or have an error
function _M.poll(fds, events, ms)
    local list = ffi.new("moonlap_load_pollfd[?]", #fds)
    for i, fd in ipairs(fds) do
        list[i - 1].fd, list[i - 1].events = fd, events
    end
    C.moonlap_load_poll(list, #fds, ms)
    local ready = {}
    for i = 1, #fds do
        if list[i - 1].revents ~= 0 then
            ready[#ready + 1] = i
        end
    end
    return ready
end


--- Memory of 4 KiB that children share.
function _M.shared_page()
    local MAP_SHARED = 1
    local page = C.moonlap_load_mmap(nil, 4096, PROT_READ + PROT_WRITE,
        MAP_SHARED + MAP_ANONYMOUS, -1, 0)
    return ffi.cast("volatile int32_t *", page)
end


--- A descriptor that is readable once SIGINT or SIGTERM has come; the signals do nothing else
-- then.
function _M.interrupts()
    local set = ffi.new("uint64_t[16]", bit.lshift(1ULL, 1) + bit.lshift(1ULL, 14))
    C.moonlap_load_sigprocmask(0, set, nil)
    return C.moonlap_load_signalfd(-1, set, 0x80000)
end


--- Takes a signal off @{interrupts}.
function _M.forget_signal(fd)
    C.moonlap_load_read(fd, ffi.new "uint8_t[128]", 128)
end


--- Lets SIGINT pass this process by, which the coordinator hears, and SIGPIPE of OpenSSL's writes.
function _M.ignore_signals()
    local SIG_IGN = ffi.cast("void *", 1)
    C.moonlap_load_signal(2, SIG_IGN)
    C.moonlap_load_signal(13, SIG_IGN)
end


--- Asks the kernel to wake this thread when it is due, and not up to 50 µs later.
function _M.wake_on_time()
    C.moonlap_load_prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
end


return _M

--- What libuv knows about the machine and this process: luv's functions of that kind.
-- @module moonlap.uv.system
local ffi = require "ffi"
local address = require "moonlap.uv.address"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local out = require "moonlap.uv.out"
local words = require "moonlap.uv.words"
local C = require "moonlap.uv.ffi"

local _M = {}
local api = {}
_M.api = api

-- Pointers are void * and structs have no names: a program may have declared libuv's own.
ffi.cdef [[
unsigned int uv_version(void);
const char *uv_version_string(void);
uint64_t uv_hrtime(void);
int uv_uptime(double *uptime);
int uv_resident_set_memory(size_t *rss);
uint64_t uv_get_free_memory(void);
uint64_t uv_get_total_memory(void);
uint64_t uv_get_constrained_memory(void);
unsigned int uv_available_parallelism(void);
int uv_getrusage(void *rusage);
int uv_getrusage_thread(void *rusage);
uint64_t uv_get_available_memory(void);
int uv_cpumask_size(void);
int uv_clock_gettime(int clock, void *timespec);
int uv_cpu_info(void *cpu_infos, int *count);
void uv_free_cpu_info(void *cpu_infos, int count);
int uv_interface_addresses(void *addresses, int *count);
void uv_free_interface_addresses(void *addresses, int count);
int uv_if_indextoname(unsigned int ifindex, char *buffer, size_t *size);
int uv_if_indextoiid(unsigned int ifindex, char *buffer, size_t *size);
void uv_loadavg(double avg[3]);
int uv_gettimeofday(void *tv);
void uv_sleep(unsigned int msec);
int uv_guess_handle(int file);
]]

local rusage_t = ffi.typeof [[struct {
    struct { long sec, usec; } utime, stime;
    uint64_t maxrss, ixrss, idrss, isrss, minflt, majflt, nswap, inblock, oublock, msgsnd, msgrcv,
        nsignals, nvcsw, nivcsw;
}]]
local cpu_info_ptr = ffi.typeof [[struct {
    char *model;
    int speed;
    struct { uint64_t user, nice, sys, idle, irq; } times;
} *]]
local interface_ptr = ffi.typeof [[struct {
    char *name;
    char mac[6];
    int internal;
    union { uint16_t family; uint32_t ip6[7]; } address, netmask;
} *]]
local timeval64_t = ffi.typeof "struct { int64_t sec; int32_t usec; }"
local timespec64_t = ffi.typeof "struct { int64_t sec; int32_t nsec; }"


--- libuv's version.
-- @treturn number `major * 65536 + minor * 256 + patch`
function api.version()
    return (C.uv_version())
end


--- libuv's version.
-- @treturn string such as `"1.44.2"`
function api.version_string()
    return (ffi.string(C.uv_version_string()))
end


--- A clock that never goes back.
-- @treturn number nanoseconds since an arbitrary start
function api.hrtime()
    return (tonumber(C.uv_hrtime()))
end


--- How long the machine has been up.
-- @treturn number seconds
function api.uptime()
    local seconds = ffi.new("double[1]")
    local code = C.uv_uptime(seconds)
    if code < 0 then
        return errors.fail(code)
    end
    return seconds[0]
end


--- This process's memory in RAM.
-- @treturn number bytes
function api.resident_set_memory()
    local rss = ffi.new("size_t[1]")
    local code = C.uv_resident_set_memory(rss)
    if code < 0 then
        return errors.fail(code)
    end
    return (tonumber(rss[0]))
end


--- Free memory.
-- @treturn number bytes
function api.get_free_memory()
    return (tonumber(C.uv_get_free_memory()))
end


--- The machine's memory.
-- @treturn number bytes
function api.get_total_memory()
    return (tonumber(C.uv_get_total_memory()))
end


--- The control group's bound.
-- @treturn number bytes; 0 when no bound is known
function api.get_constrained_memory()
    return (tonumber(C.uv_get_constrained_memory()))
end


--- What this process may still get; libuv 1.45
-- and later.
-- @treturn number bytes
function api.get_available_memory()
    return (tonumber(C.uv_get_available_memory()))
end


--- How many CPUs a mask of `uv.thread_setaffinity` has; libuv 1.45 and later.
-- @treturn number; or nil, message and name of the error
function api.cpumask_size()
    return errors.result(C.uv_cpumask_size())
end


local CLOCKS = { monotonic = 0, realtime = 1 }

--- A clock with nanoseconds; libuv 1.45 and later.
-- @tparam string clock `"monotonic"`, which never goes back, or `"realtime"`
-- @treturn table `{sec, nsec}`; or nil, message and name of the error
function api.clock_gettime(...)
    local clock, now = check.option(1, CLOCKS, ...), timespec64_t()
    local code = C.uv_clock_gettime(clock, now)
    if code < 0 then
        return errors.fail(code)
    end
    return { sec = tonumber(now.sec), nsec = now.nsec }
end


--- Threads that can run at once; libuv 1.44 and later.
-- @treturn number at least 1
function api.available_parallelism()
    return (C.uv_available_parallelism())
end


local RUSAGE = {
    "maxrss", "ixrss", "idrss", "isrss", "minflt", "majflt", "nswap", "inblock", "oublock",
    "msgsnd", "msgrcv", "nsignals", "nvcsw", "nivcsw",
}


local function usage_by(call)
    local usage = rusage_t()
    local code = call(usage)
    if code < 0 then
        return errors.fail(code)
    end
    local result = {
        utime = { sec = tonumber(usage.utime.sec), usec = tonumber(usage.utime.usec) },
        stime = { sec = tonumber(usage.stime.sec), usec = tonumber(usage.stime.usec) },
    }
    for _, name in ipairs(RUSAGE) do
        result[name] = tonumber(usage[name])
    end
    return result
end


--- What this process has used.
-- @treturn table `utime`, `stime`: `{sec, usec}`; `maxrss`: KiB; counts, as getrusage(2)
function api.getrusage()
    local usage, err, name = usage_by(C.uv_getrusage)
    return usage, err, name
end


--- What this thread has used; libuv 1.50 and later.
-- @treturn table as of `uv.getrusage`; or nil, message and name of the error
function api.getrusage_thread()
    local usage, err, name = usage_by(C.uv_getrusage_thread)
    return usage, err, name
end


local function add_cpu(list, info)
    local times = {}
    for _, name in ipairs { "user", "nice", "sys", "idle", "irq" } do
        times[name] = tonumber(info.times[name])
    end
    list[#list + 1] = {
        model = info.model ~= nil and ffi.string(info.model) or nil,
        speed = info.speed,
        times = times,
    }
end


--- The machine's CPUs.
-- @treturn table a list of `{model, speed, times}`: MHz; ms, `{user, nice, sys, idle, irq}`
function api.cpu_info()
    return out.list(C.uv_cpu_info, C.uv_free_cpu_info, cpu_info_ptr, add_cpu)
end


local function ip_name(sockaddr)
    local described = address.describe(sockaddr)
    return described.family and described.ip or "<unknown sa family>"
end


local function add_interface(interfaces, interface)
    local name = ffi.string(interface.name)
    local list = interfaces[name] or {}
    interfaces[name] = list
    list[#list + 1] = {
        internal = interface.internal ~= 0,
        mac = ffi.string(interface.mac, 6),
        ip = ip_name(interface.address),
        netmask = ip_name(interface.netmask),
        family = words.family_word[interface.address.family],
    }
end


--- Network interfaces.
-- @treturn table by name a list of `{ip, netmask, family, internal, mac}`; `mac`: 6 raw bytes
function api.interface_addresses()
    return out.list(C.uv_interface_addresses, C.uv_free_interface_addresses, interface_ptr,
        add_interface)
end


local INTERFACE_SIZE = 128 -- bytes for an interface's name, which IF_NAMESIZE keeps below 16


-- luv hands libuv one less than it was given; who runs on luv counts on it.
-- luv's newest takes the system's number, older ones take one more.
local BEFORE_FIRST = C.uv_version() >= 0x013400 and 0 or 1

local function interface_index(...)
    return (check.number(1, ...) - BEFORE_FIRST) % 0x100000000
end


--- An interface's name.
-- @tparam number index the system's; before libuv 1.52 one more than that, as in luv
-- @treturn string such as `"eth0"`
function api.if_indextoname(...)
    return out.text_of(C.uv_if_indextoname, interface_index(...), INTERFACE_SIZE)
end


--- An interface, for an IPv6 scope.
-- @tparam number index the system's; before libuv 1.52 one more than that, as in luv
-- @treturn string on Linux its name
function api.if_indextoiid(...)
    return out.text_of(C.uv_if_indextoiid, interface_index(...), INTERFACE_SIZE)
end


--- The machine's load averages.
-- @treturn number 1 minute
-- @treturn number 5
-- @treturn number 15
function api.loadavg()
    local averages = ffi.new("double[3]")
    C.uv_loadavg(averages)
    return averages[0], averages[1], averages[2]
end


--- The wall clock.
-- @treturn number seconds since 1970
-- @treturn number and microseconds
function api.gettimeofday()
    local now = timeval64_t()
    local code = C.uv_gettimeofday(now)
    if code < 0 then
        return errors.fail(code)
    end
    return tonumber(now.sec), now.usec
end


--- Blocks this thread.
-- @tparam number msec milliseconds; below 0: none
function api.sleep(...)
    C.uv_sleep(math.max(0, check.number(1, ...)) % 0x100000000)
end


-- uv_handle_type, and what follows it.
local GUESSED = {
    [0] = nil, "async", "check", "fs_event", "fs_poll", "handle", "idle", "pipe", "poll", "prepare",
    "process", "stream", "tcp", "timer", "tty", "udp", "signal", "file",
}


--- The handle that a descriptor wants.
-- @tparam number fd
-- @treturn string|nil `"tcp"`, `"pipe"`, `"tty"`, `"udp"`, `"file"` or nothing
function api.guess_handle(...)
    local kind = GUESSED[C.uv_guess_handle(check.int(1, ...))]
    if kind then
        return kind
    end
end


return _M

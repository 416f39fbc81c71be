--- A counter of the CPU, for this thread in user space: by default the instructions it
-- retired. Linux only, and only where the machine has counters and the kernel lets them be
-- read: most virtual machines have none.
-- @module moonlap.bench.counter
local ffi = require "ffi"

jit.off(true, true)

local _M = {}
local mt = {__index = _M}

local C = ffi.C
local PERF_EVENT_OPEN = ({x64 = 298, arm64 = 241})[jit.arch]
local HARDWARE, INSTRUCTIONS = 0, 1
local EXCLUDE_KERNEL_AND_HYPERVISOR = 0x60
local TIMES = 3      -- read_format: how long it was enabled, and how long it counted
local CLOEXEC = 8

-- The first version of struct perf_event_attr, which every kernel knows.
ffi.cdef [[
typedef struct {
    uint32_t type, size;
    uint64_t config, period, sample, read_format, flags, unused[2];
} moonlap_perf_attr;
long moonlap_perf_open(long number, const moonlap_perf_attr *attr, int pid, int cpu, int group,
    unsigned long flags) __asm__("syscall");
int moonlap_perf_read(int fd, int32_t *values, size_t size) __asm__("read");
int moonlap_perf_close(int fd) __asm__("close");
]]


--- Opens a counter, which counts from now on.
-- @tparam[opt] number kind `PERF_TYPE_…`, in place of hardware
-- @tparam[opt] number config the event of that kind, in place of instructions
-- @treturn[1] table
-- @treturn[2] nil where there is none
-- @treturn[2] string why
function _M.open(kind, config)
    if jit.os ~= "Linux" or not PERF_EVENT_OPEN then
        return nil, "no counters are known of on " .. jit.os .. " " .. jit.arch
    end
    local attr = ffi.new("moonlap_perf_attr")
    attr.type, attr.config = kind or HARDWARE, config or INSTRUCTIONS
    attr.size = ffi.sizeof(attr)
    attr.read_format, attr.flags = TIMES, EXCLUDE_KERNEL_AND_HYPERVISOR
    local fd = tonumber(C.moonlap_perf_open(PERF_EVENT_OPEN, attr, 0, -1, -1, CLOEXEC))
    if fd < 0 then
        return nil, "the kernel opens no counter: errno " .. ffi.errno()
    end
    return setmetatable({
        fd = fd, total = 0, calls = 0,
        values = ffi.new("int32_t[6]"), -- three of 64 bits: reading those would allocate
    }, mt)
end


-- What was counted since it was opened; nil when others had the CPU's counters for a part
-- of the time.
local function read(self)
    local v = self.values
    if C.moonlap_perf_read(self.fd, v, 24) ~= 24 or v[2] ~= v[4] or v[3] ~= v[5] then
        return nil
    end
    return v[0] % 2 ^ 32 + v[1] * 2 ^ 32
end


--- Begins a batch.
function _M:start()
    self.before = read(self)
end


--- Ends a batch.
-- @tparam number calls in it
function _M:stop(calls)
    local after = read(self)
    if not (after and self.before) then
        self.partial = true
        return
    end
    self.total, self.calls = self.total + after - self.before, self.calls + calls
end


--- What a call of the batches so far took.
-- @treturn number nil when they could not all be counted
function _M:per_call()
    return not self.partial and self.calls > 0 and self.total / self.calls or nil
end


--- Gives the counter back.
function _M:close()
    C.moonlap_perf_close(self.fd)
end


return _M

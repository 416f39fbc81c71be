--- What disturbed a batch from outside: involuntary context switches of this thread,
-- and CPU time that the hypervisor took. Linux only; elsewhere nothing is reported.
-- @module moonlap.bench.pollution
local ffi = require "ffi"

jit.off(true, true)

local _M = {}
local mt = {__index = _M}

local C = ffi.C
local RUSAGE_THREAD = 1
local NIVCSW = 34 -- of the int32_t view of struct rusage on 64-bit Linux: its last long
local STEAL_EVERY = 1e7 -- ns: /proc/stat counts in clock ticks of 10 ms

-- int32_t views and int results, so that interpreted reads allocate nothing.
ffi.cdef [[
int moonlap_getrusage(int who, int32_t *usage) __asm__("getrusage");
int moonlap_open(const char *path, int flags, ...) __asm__("open");
int moonlap_pread(int fd, uint8_t *buffer, size_t size, long offset) __asm__("pread");
]]


--- Starts watching.
-- @treturn table
function _M.open()
    return setmetatable({
        linux = jit.os == "Linux" and ffi.abi("64bit"),
        usage = ffi.new("int32_t[36]"),
        buffer = ffi.new("uint8_t[256]"),
        stat = jit.os == "Linux" and C.moonlap_open("/proc/stat", 0x80000) or -1, -- O_CLOEXEC
        checked = -STEAL_EVERY,
    }, mt)
end


--- Involuntary context switches of this thread so far.
-- @treturn number
function _M:switches()
    if not self.linux then
        return 0
    end
    C.moonlap_getrusage(RUSAGE_THREAD, self.usage)
    return self.usage[NIVCSW]
end


-- The eighth number of the line "cpu  user nice system idle iowait irq softirq steal".
local function parse_steal(buffer, size)
    local field, value, inside = 0, 0, false
    for i = 0, size - 1 do
        local c = buffer[i]
        if c >= 48 and c <= 57 then
            if not inside then
                field, value, inside = field + 1, 0, true
            end
            value = value * 10 + (c - 48)
        else
            if inside and field == 8 then
                return value
            end
            inside = false
            if c == 10 then
                return nil
            end
        end
    end
    return nil
end


--- Whether the hypervisor has taken CPU time since the last look. Looks every 10 ms,
-- the step in which the kernel counts.
-- @tparam number now ns
-- @treturn boolean looked
-- @treturn boolean stolen, of any CPU, since the last look
function _M:stolen(now)
    if self.stat < 0 or now - self.checked < STEAL_EVERY then
        return false, false
    end
    self.checked = now
    local size = C.moonlap_pread(self.stat, self.buffer, 256, 0)
    local steal = size > 0 and parse_steal(self.buffer, size)
    local stolen = steal and self.last_steal and steal > self.last_steal
    self.last_steal = steal or nil
    return true, stolen or false
end


return _M

--- What the kernel is asked to do with this process: end it with its parent, and refuse
-- it memory beyond a limit, so that a leak becomes a Lua error with a place in the code.
-- @module moonlap.bench.limits
local ffi = require "ffi"

jit.off(true, true)

local _M = {}

local C = ffi.C
local PR_SET_PDEATHSIG, SIGKILL = 1, 9
local RLIMIT_DATA = 2
local RLIM_INFINITY = 0xffffffffffffffffULL

ffi.cdef [[
int moonlap_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
    unsigned long d) __asm__("prctl");
int moonlap_setrlimit(int resource, const uint64_t *limits) __asm__("setrlimit");
]]


--- Applies both. Linux only; elsewhere does nothing.
-- @tparam[opt] number memory_bytes most private memory of this process
function _M.apply(memory_bytes)
    if jit.os ~= "Linux" then
        return
    end
    C.moonlap_prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if memory_bytes and memory_bytes > 0 then
        C.moonlap_setrlimit(RLIMIT_DATA, ffi.new("uint64_t[2]", memory_bytes, RLIM_INFINITY))
    end
end


return _M

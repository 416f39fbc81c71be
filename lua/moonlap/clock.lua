--- A nanosecond clock whose step and cost are known.
--
-- Two sources: the time-stamp counter, read by a few bytes of machine code mapped at
-- start, where the kernel itself trusts it; else `clock_gettime(CLOCK_MONOTONIC)`
-- through FFI. Both read in 10 to 30 ns from compiled code and allocate nothing, also
-- when interpreted. Wall time, `os.clock` (CPU time in 1 µs steps) and `ngx.now`
-- (cached, in ms) are never used.
-- @module moonlap.clock
local ffi = require "ffi"
local bit = require "bit"
local jit_util = require "jit.util"
local vmdef = require "jit.vmdef"
local map = require("moonlap.machinecode").map

local _M = {}

local abs, floor, min = math.abs, math.floor, math.min
local C = ffi.C

-- int32_t pairs, not int64_t fields: an interpreted read of an int64_t allocates.
ffi.cdef [[
int moonlap_clock_gettime(int clock, int32_t *timespec) __asm__("clock_gettime");
]]

local CLOCK_MONOTONIC = 1


local function read_file(path)
    local file, err = io.open(path, "r")
    if not file then
        return nil, err
    end
    local text = file:read("*a")
    file:close()
    return text
end


local function open_monotonic()
    local ts = ffi.new("int32_t[4]")
    C.moonlap_clock_gettime(CLOCK_MONOTONIC, ts)
    local base = ts[0]

    return {
        source = "monotonic",
        rounding = 1.5, -- whole ns, made from a counter of a coarser or finer step
        now = function()
            C.moonlap_clock_gettime(CLOCK_MONOTONIC, ts)
            return (ts[0] - base) * 1e9 + ts[2]
        end,
    }
end


-- Why the time-stamp counter is no clock here, or nil when it is one: it must tick at
-- one rate through frequency changes and sleep, and agree between cores, which the
-- kernel has checked when it uses it as its own clock source.
local function tsc_unfit(root)
    if jit.arch ~= "x64" then
        return "no time-stamp counter on " .. jit.arch
    end
    local cpu = read_file(root .. "/proc/cpuinfo")
    local flags = cpu and cpu:match("\nflags%s*:([^\n]*)")
    if not flags then
        return "/proc/cpuinfo does not say whether the time-stamp counter is invariant"
    end
    flags = flags .. " "
    if not (flags:find(" constant_tsc ", 1, true) and flags:find(" nonstop_tsc ", 1, true)) then
        return "the time-stamp counter is not invariant on this CPU"
    end
    local source = read_file(
        root .. "/sys/devices/system/clocksource/clocksource0/current_clocksource")
    source = source and source:gsub("%s+$", "")
    if source ~= "tsc" then
        return "the kernel does not trust the time-stamp counter: its clock source is "
            .. tostring(source)
    end
    return nil
end


-- Machine code of `double ticks(void)`: ticks since now, so that a double is exact.
--     lfence                  ; what came before has finished
--     rdtsc
--     lfence                  ; what comes after has not begun
--     shl rdx, 32 / or rax, rdx
--     mov rcx, base / sub rax, rcx
--     xorps xmm0, xmm0 / cvtsi2sd xmm0, rax
--     ret
-- Without the second fence, up to 20 ns of what is timed next hide behind this read.
local function map_tsc()
    local count = "\15\174\232\15\49\15\174\232\72\193\226\32\72\9\208"
    local read, err = map(count .. "\195") -- the count itself, as an integer, for the base
    if not read then
        return nil, err
    end
    local base = ffi.new("uint64_t[1]", ffi.cast("uint64_t (*)(void)", read)())
    local ticks
    ticks, err = map(count .. "\72\185" .. ffi.string(base, 8)
        .. "\72\41\200\15\87\192\242\72\15\42\192\195")
    if not ticks then
        return nil, err
    end
    return ffi.cast("double (*)(void)", ticks)
end


-- Nanoseconds a tick, against the monotonic clock over `span` ns. Of several reads at
-- either end the one that took least stands: a read that was interrupted pairs badly.
local function calibrate(ticks, monotonic, span)
    local function pair()
        local best, tick, ns = 1 / 0, 0, 0
        for _ = 1, 50 do
            local before = ticks()
            local now = monotonic()
            local after = ticks()
            if after - before < best then
                best, tick, ns = after - before, (before + after) / 2, now
            end
        end
        return tick, ns
    end

    local tick0, ns0 = pair()
    repeat local now = monotonic() until now - ns0 >= span
    local tick1, ns1 = pair()
    return (ns1 - ns0) / (tick1 - tick0)
end


local function open_tsc(root, monotonic)
    local reason = tsc_unfit(root)
    if reason then
        return nil, reason
    end
    local ticks, err = map_tsc()
    if not ticks then
        return nil, err
    end
    local ns_per_tick = calibrate(ticks, monotonic, 5e6)

    return {
        source = "tsc",
        rounding = 0.05,
        ns_per_tick = ns_per_tick,
        now = function()
            return ticks() * ns_per_tick
        end,
    }
end


-- The smallest step the clock can show: the smallest of all non-zero differences
-- between reads, and between such differences (a read costs more than a step).
-- Differences up to `rounding` ns only show how the clock rounds.
local function measure_step(now, rounding)
    local seen, count = {}, 0
    local step = 1 / 0
    local last = now()
    for _ = 1, 20000 do
        local t = now()
        local delta = t - last
        last = t
        if delta > 0 and count < 64 then
            local key = floor(delta * 100 + 0.5) / 100
            if not seen[key] then
                for other in pairs(seen) do
                    local d = abs(other - key)
                    if d > rounding then
                        step = min(step, d)
                    end
                end
                seen[key], count = true, count + 1
                step = min(step, key)
            end
        end
    end
    return step
end


local function new_cost_loop(now)
    return function(n)
        local sum = 0
        local t0 = now()
        for _ = 1, n do
            sum = sum + now()
        end
        return (now() - t0) / n, sum
    end
end


-- Whether one of the function's loops runs as a trace: its bytecode is then patched.
local function has_compiled_loop(func)
    local pc = 1
    while true do
        local ins = jit_util.funcbc(func, pc)
        if not ins then
            return false
        end
        local op = vmdef.bcnames:sub(bit.band(ins, 0xff) * 6 + 1, bit.band(ins, 0xff) * 6 + 6)
        if op:find("^JFORL") or op:find("^JLOOP") then
            return true
        end
        pc = pc + 1
    end
end


--- Opens a clock and measures it (about 10 ms).
-- @tparam[opt="auto"] string kind `"auto"`, `"tsc"` or `"monotonic"`
-- @tparam[opt=""] string root where `/proc` and `/sys` are looked for (tests)
-- @treturn table the clock: `now()` in ns since an arbitrary start, a double; `source`;
-- `step_ns`, the smallest step seen; `cost_ns` of one read; `compiled`, whether reads
-- were seen to run as a trace; `ns_per_tick` of the counter; `reason` why `auto` did
-- not take the counter
-- @treturn[2] nil
-- @treturn[2] string why the wanted clock is not to be had
function _M.open(kind, root)
    kind, root = kind or "auto", root or ""
    local clock = open_monotonic()
    if kind ~= "monotonic" then
        local tsc, reason = open_tsc(root, clock.now)
        if not tsc and kind == "tsc" then
            return nil, reason
        end
        clock.reason = reason
        clock = tsc or clock
    end

    local cost = new_cost_loop(clock.now)
    clock.cost_ns = 1 / 0
    for _ = 1, 50 do
        clock.cost_ns = min(clock.cost_ns, (cost(2000)))
    end
    clock.compiled = has_compiled_loop(cost)
    clock.step_ns = measure_step(clock.now, clock.rounding)
    clock.rounding = nil
    return clock
end


return _M

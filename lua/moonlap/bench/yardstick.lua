--- Yardsticks: fixed pieces of work, timed beside batches, that tell how fast the machine is at
-- that moment. A neighbour on the host slows a batch without a trace in any counter of the guest;
-- it slows these too.
--
-- They are machine code, so that the work is the same in every VM, with the JIT on or off, and
-- nothing of it shows among the case's traces. Each begins with a turn that is not timed, which
-- fetches its code and data: what the case left in the caches is not in its time. What they leave
-- there is 4 KiB, one in eight lines of a first-level cache of 32 KiB. Batches are so long that
-- they take at most 3 % of the time.
-- @module moonlap.bench.yardstick
local ffi = require "ffi"
local machinecode = require "moonlap.machinecode"

jit.off(true, true)

local _M = {}
local mt = {__index = _M}

local LINES = 10     -- that the memory yardstick follows, each in a page of its own
local PAGE = 4096
local ALIGNED = 64   -- where functions begin

-- int32_t run(work, buffer, untimed turns, timed turns): ticks of the time-stamp counter.
--     push rbx / push rbp / push r12
--     mov rbx, rdi / mov rbp, rsi / mov r12d, ecx
--     mov edi, edx / call rbx
--     lfence / rdtsc / lfence / push rax
--     mov edi, r12d / call rbx
--     lfence / rdtsc / lfence / pop rdx / sub eax, edx
--     pop r12 / pop rbp / pop rbx / ret
local RUN = "\83\85\65\84\72\137\251\72\137\245\65\137\204\137\215\255\211\15\174\232\15\49\15\174"
    .. "\232\80\68\137\231\255\211\15\174\232\15\49\15\174\232\90\41\208\65\92\93\91\195"

-- Work takes the number of turns in edi, and the buffer in rbp.

-- As many additions at once as the core has units for.
-- 1:  add rax, rdi / xor rdx, rdi / add rcx, rdi / xor r8, rdi
--     add r9, rdi / xor r10, rdi / add r11, rdi
--     sub edi, 1 / jnz 1b
--     ret
local CORE = "\72\1\248\72\49\250\72\1\249\73\49\248\73\1\249\73\49\250\73\1\251\131\239\1\117\230"
    .. "\195"

-- As many loads from the first-level cache as it serves: a turn reads the 64 lines of a page.
-- 1:  mov rsi, rbp / lea rdx, [rbp + 4096]
-- 2:  mov rax, [rsi] / mov r8, [rsi + 64] / mov r9, [rsi + 128] / mov r10, [rsi + 192]
--     add rsi, 256 / cmp rsi, rdx / jne 2b
--     sub edi, 1 / jnz 1b
--     ret
local CACHE = "\72\137\238\72\141\149\0\16\0\0\72\139\6\76\139\70\64\76\139\142\128\0\0\0\76\139"
    .. "\150\192\0\0\0\72\129\198\0\1\0\0\72\57\214\117\223\131\239\1\117\208\195"

-- Loads that wait for each other, of lines that FLUSH took out of all caches.
--     mov rax, rbp
-- 1:  mov rax, [rax] / sub edi, 1 / jnz 1b
--     ret
local MEMORY = "\72\137\232\72\139\0\131\239\1\117\248\195"

-- void flush(first line, lines).
-- 1:  mov rax, [rdi] / clflush [rdi] / mov rdi, rax
--     sub esi, 1 / jnz 1b
--     mfence / ret
local FLUSH = "\72\139\7\15\174\63\72\137\199\131\238\1\117\242\15\174\240\195"

--- The kinds, in the order in which they are timed.
_M.KINDS = {"core", "cache", "memory"}

-- Other pieces have other bests: who changes these raises yardstickPieces in internal/store.
local WORK = {
    core = {code = CORE, untimed = 10, turns = 2600},
    cache = {code = CACHE, untimed = 1, turns = 150},
    memory = {code = MEMORY, untimed = 1, turns = LINES},
}


-- A page that the cache yardstick reads, and lines in a ring, each of which points to the next.
-- They lie in pages of their own, in no order: prefetchers look no further than a page.
local function new_buffers()
    local memory = ffi.new("uint8_t[?]", (LINES + 2) * PAGE)
    local address = tonumber(ffi.cast("uintptr_t", memory))
    local block = ffi.cast("uint8_t *", memory) + (PAGE - address % PAGE) % PAGE
    local function line(i)
        return block + (i + 1) * PAGE + i * 7 % LINES * ALIGNED
    end
    local at = 0
    for _ = 1, LINES do
        local next = (at + 3) % LINES -- visits all
        ffi.cast("uint8_t **", line(at))[0] = line(next)
        at = next
    end
    return memory, block, line(0)
end


--- Opens them.
-- @tparam table clock from `moonlap.clock`
-- @treturn table
-- @treturn[2] nil where there are none
-- @treturn[2] string why
function _M.open(clock)
    if not clock.ns_per_tick then
        return nil, clock.reason or "the clock is not the time-stamp counter"
    end
    local code, at = "", {}
    for i, piece in ipairs {RUN, CORE, CACHE, MEMORY, FLUSH} do
        at[i] = #code
        code = code .. piece .. ("\204"):rep(-#piece % ALIGNED)
    end
    local page, err = machinecode.map(code)
    if not page then
        return nil, err
    end
    local memory, block, ring = new_buffers()
    local self = setmetatable({
        ns_per_tick = clock.ns_per_tick,
        run = ffi.cast("int32_t (*)(uint8_t *, uint8_t *, int32_t, int32_t)", page),
        flush = ffi.cast("void (*)(uint8_t *, int32_t)", page + at[5]),
        alive = memory, ring = ring,
        core = {page + at[2], block}, cache = {page + at[3], block}, memory = {page + at[4], ring},
    }, mt)
    self.flush(ring, LINES)
    self.cost_ns = self:cheapest(clock.now)
    return self
end


--- What a look takes when nothing disturbs it.
-- @tparam function now the clock's
-- @treturn number ns, the least of 20
function _M:cheapest(now)
    local into, least = {}, 1 / 0
    for _, kind in ipairs(_M.KINDS) do
        into[kind] = {}
    end
    for _ = 1, 20 do
        local start = now()
        self:time(into, 0)
        least = math.min(least, now() - start)
    end
    return least
end


--- Times each of them once.
-- @tparam table into by kind, a list that can be written to
-- @tparam number i where
function _M:time(into, i)
    for k = 1, #_M.KINDS do
        local kind = _M.KINDS[k]
        local work = WORK[kind]
        local ticks = self.run(self[kind][1], self[kind][2], work.untimed, work.turns)
        -- Below 0 where the counter was set back, as by a virtual machine that was suspended.
        into[kind][i] = ticks > 0 and ticks * self.ns_per_tick or 0
    end
    self.flush(self.ring, LINES)
end


return _M

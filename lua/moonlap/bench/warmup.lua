--- Warm-up: until the JIT has been silent for a while *and* the level is steady.
--
-- This only decides when to begin measuring. The warm-up's batches are recorded too, and
-- whether the case was really steady is judged from all of them afterwards.
-- @module moonlap.bench.warmup
local ffi = require "ffi"

jit.off(true, true)

local _M = {}

local abs, ceil, max, min = math.abs, math.ceil, math.max, math.min

local WINDOW = 12         -- batches in each of the two windows that are compared
local QUIET = 20          -- batches without a trace event
local LEVEL = 0.03        -- medians of the two windows differ by less
local SHORTEST = 2e7      -- ns: rare branches need many calls to become hot
local MOST_CALLS = 2 ^ 30 -- a batch; its counter is an int32


-- Median of the `size` values before the `last`-th in a ring; sorts a copy in `scratch`.
local function median(ring, last, size, scratch)
    for k = 0, size - 1 do
        local v = ring[(last - size + k) % (2 * WINDOW)]
        local j = k - 1
        while j >= 0 and scratch[j] > v do
            scratch[j + 1] = scratch[j]
            j = j - 1
        end
        scratch[j + 1] = v
    end
    return scratch[(size - size % 2) / 2]
end


local function is_steady(ring, count, scratch)
    if count < 2 * WINDOW then
        return false
    end
    local older = median(ring, count - WINDOW, WINDOW, scratch)
    local newer = median(ring, count, WINDOW, scratch)
    return abs(newer - older) <= LEVEL * min(older, newer)
end


-- Calls for a batch of `target` ns, seen that n took ns; grows tenfold at most.
local function next_size(n, ns, target)
    if ns >= 0.8 * target and (ns <= 1.6 * target or n == 1) then
        return n
    end
    -- The first steps are the same whatever the clock says: by then a loop has become
    -- hot, and which call that was must not hang on time, or no draw could be replayed.
    local wanted = ns > 0 and n >= 1000 and n * target / ns or n * 10
    if ns > target then
        wanted = n * target / ns
    end
    return max(1, min(ceil(wanted), n * 10, MOST_CALLS))
end


--- Runs a loop until it is warm.
-- @tparam table series where batches are timed and kept
-- @tparam string kind of batch to record them as
-- @tparam function loop
-- @tparam number target ns a batch should take
-- @tparam number longest ns to go on for at most
-- @treturn number calls for a batch of `target` ns
-- @treturn number ns per call at the end
-- @treturn boolean false: the limit came first
function _M.run(series, kind, loop, target, longest)
    local ring = ffi.new("double[?]", 2 * WINDOW)
    local scratch = ffi.new("double[?]", WINDOW)
    local now, ledger = series.watch.clock.now, series.watch.ledger
    local start = now()
    local n, count, quiet, events = 1, 0, 0, ledger.events
    while true do
        local ns, clean = series:time(kind, 0, loop, n)
        ring[count % (2 * WINDOW)] = ns / n
        count = count + 1
        quiet = ledger.events == events and quiet + 1 or 0
        events = ledger.events

        local elapsed = now() - start
        local steady = quiet >= QUIET and elapsed >= SHORTEST and is_steady(ring, count, scratch)
        if steady or elapsed >= longest then
            local level = median(ring, count, min(WINDOW, count), scratch)
            return next_size(n, n * level, target), level, steady
        end
        -- A batch that was interrupted does not tell how long batches take.
        if clean or ns < target then
            n = next_size(n, ns, target)
        end
    end
end


return _M

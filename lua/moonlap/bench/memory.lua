--- Bytes of Lua heap that a call allocates.
-- @module moonlap.bench.memory
jit.off(true, true)

local _M = {}

local collectgarbage = collectgarbage
local max, min = math.max, math.min

local MOST_BYTES = 32 * 1024 * 1024 -- that a pass may leave uncollected
local MOST_CALLS = 10000
local LONGEST_PASS = 1e7 -- ns: what is spent here is not spent on another process
local PASSES = 3


-- Bytes that n calls leave behind, with the collector stopped.
local function allocated(loop, n)
    collectgarbage("collect")
    collectgarbage("stop")
    local before = collectgarbage("count")
    loop(n)
    local after = collectgarbage("count")
    collectgarbage("restart")
    return (after - before) * 1024
end


--- Measures, as the least of several passes: a trace compiled in one counts as heap too.
-- @tparam function loop a loop from `moonlap.bench.loop`, warmed up
-- @tparam number ns_per_call to keep a pass short
-- @treturn number bytes per call
-- @treturn number calls a pass
function _M.per_call(loop, ns_per_call)
    local n = max(1, min(MOST_CALLS, math.floor(LONGEST_PASS / max(ns_per_call, 1))))
    local trial = max(1, math.floor(n / 100))
    local bytes = allocated(loop, trial) / trial
    n = max(1, min(n, math.floor(MOST_BYTES / max(bytes, 1))))

    local least = 1 / 0
    for _ = 1, PASSES do
        least = min(least, allocated(loop, n))
    end
    return max(least, 0) / n, n
end


return _M

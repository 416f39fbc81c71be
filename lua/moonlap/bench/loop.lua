--- The timed loop. Every case gets one of its own, freshly generated: a new prototype
-- has its own bytecode and so its own hot counter and its own root trace, and no case
-- is slowed by what another made of a shared call site.
--
-- In the timed region nothing is allocated, and what `run` returns goes into a slot that
-- outlives the loop, so that the JIT can't drop the work.
-- @module moonlap.bench.loop
jit.off(true, true) -- this file; what it generates is compiled

local _M = {}

local load = load

-- The clock is read by the caller, in code that is never compiled: read in here, it would
-- change its cost when the function itself becomes hot, after some hundred batches.
local BATCH = [[
local sink, run, state = ...
return function(n, first)
    for i = first, first + n - 1 do
        sink[1] = run(state, i)
    end
end
]]

-- One clock read a lap; the read and the recording are in the lap, as they are in the
-- empty twin's, whose mean is `overhead`.
local LAPS = [[
local now, sink, run, state, histogram = ...
return function(n, first, overhead)
    local t0 = now()
    local last = t0
    for i = first, first + n - 1 do
        sink[1] = run(state, i)
        local t = now()
        histogram:record(t - last - overhead)
        last = t
    end
    return last - t0
end
]]

-- A number returned by the case is stored in every turn. A constant would not be: the
-- JIT drops the second of two equal stores. So where the case returns numbers, the twin
-- returns its turn.
local EMPTY = "local v = ... return function() return v end"
local EMPTY_NUMBER = "return function(_, i) return i end"


local function generate(source, name, ...)
    return assert(load(source, "=moonlap " .. name))(...)
end


-- Where the generated functions begin, and where a batch ends: what the JIT does there is
-- about our loop, not about the case.
_M.ENTRY_LINE, _M.END_LINE = 2, 6


--- A loop that runs a function n times, as call number `first` and so on.
-- @tparam table sink where results go
-- @tparam function run called as `run(state, i)`
-- @param state
-- @treturn function(n, first)
function _M.batch(sink, run, state)
    return generate(BATCH, "loop", sink, run, state)
end


--- A loop that times each call by itself into a histogram.
-- @tparam function now the clock
-- @tparam table sink where results go
-- @tparam function run called as `run(state, i)`
-- @param state
-- @tparam table histogram a `moonlap.histogram`
-- @treturn function(n, first, overhead) returns the ns that all took; overhead in ns is
-- taken off every lap
function _M.laps(now, sink, run, state, histogram)
    return generate(LAPS, "laps", now, sink, run, state, histogram)
end


--- The empty twin's function: does nothing, and returns the kind of thing the case does.
-- @param result what the case returned last
-- @treturn function
function _M.empty(result)
    if type(result) == "number" then
        return generate(EMPTY_NUMBER, "empty")
    end
    return generate(EMPTY, "empty", result)
end


return _M

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

-- One clock read a lap. A lap holds the call, the read and the storing of one number, as
-- it does in the empty twin's; the histogram is fed between batches.
local LAPS = [[
local now, sink, run, state, stamps = ...
return function(n, first)
    stamps[0] = now()
    for i = first, first + n - 1 do
        sink[1] = run(state, i)
        stamps[i - first + 1] = now()
    end
end
]]

local RECORD = [[
local histogram, stamps = ...
return function(from, to, overhead)
    local last = stamps[from]
    for i = from + 1, to do
        local t = stamps[i]
        histogram:record(t - last - overhead)
        last = t
    end
end
]]

-- A number returned by the case is stored in every turn. A constant would not be: the
-- JIT drops the second of two equal stores. So where the case returns numbers, the twin
-- returns its turn. A case that returns nothing is the cheaper for it in the interpreter.
local EMPTY_NOTHING = "return function() end"
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


--- A loop that tells after each call what time it is.
-- @tparam function now the clock
-- @tparam table sink where results go
-- @tparam function run called as `run(state, i)`
-- @param state
-- @param stamps an array of double: the time before the first call goes to 0, that after
-- the n-th to n
-- @treturn function(n, first)
function _M.laps(now, sink, run, state, stamps)
    return generate(LAPS, "laps", now, sink, run, state, stamps)
end


--- A loop that records what lies between such times.
-- @tparam table histogram a `moonlap.histogram`
-- @param stamps as for `laps`
-- @treturn function(from, to, overhead): the laps after stamp `from` up to stamp `to`, each
-- less `overhead` ns
function _M.record(histogram, stamps)
    return generate(RECORD, "record", histogram, stamps)
end


--- The empty twin's function: does nothing, and returns the kind of thing the case does.
-- @param result what the case returned last
-- @treturn function
function _M.empty(result)
    if result == nil then
        return generate(EMPTY_NOTHING, "empty")
    elseif type(result) == "number" then
        return generate(EMPTY_NUMBER, "empty")
    end
    return generate(EMPTY, "empty", result)
end


return _M

--- How callbacks are called: from code that LuaJIT never compiles, or inlined in compiled code.
--
-- Called from the interpreter, each callback has the trace of its own that it would have in any
-- program; what it does that LuaJIT does not compile ends only that. This costs some 40 ns a call,
-- whatever and how many the callbacks are. Where a callback takes less than that, as of idle
-- handles and timers, a compiled loop may inline it, once it is proved that this works: LuaJIT has
-- compiled the callback by itself, from its beginning to its return. A loop that for all that is
-- not compiled soon is given up, long before LuaJIT would blacklist it.
-- @module moonlap.uv.dispatch

local bit = require "bit"

local _M = {}

local band, rshift = bit.band, bit.rshift
local pcall = pcall

local has_util, util = pcall(require, "jit.util")
local funcbc, traceinfo = has_util and util.funcbc, has_util and util.traceinfo

--- Calls what may be nothing.
-- @param callback a function, or nil or false
-- @param ... its arguments
function _M.call(callback, ...)
    if callback then
        callback(...)
    end
end

jit.off(_M.call)

--- A function with traces of its own. Where many share one piece of code, as closures do or by
-- calling it, LuaJIT compiles that for the first one; the others leave its trace in the middle, and
-- go on interpreted where their caller is not compiled.
-- @tparam function fn
-- @treturn function the same with the same upvalues
function _M.own(fn)
    local copy = loadstring(string.dump(fn))
    for i = 1, debug.getinfo(fn, "u").nups do
        debug.upvaluejoin(copy, i, fn, i)
    end
    return copy
end

-- -- what LuaJIT has compiled -------------------------------------------------------------------

-- An instruction's number; the numbers differ by version, their order does not: FORL and five more,
-- then LOOP, ILOOP, JLOOP, JMP, FUNCF, IFUNCF, JFUNCF. J: compiled, I: blacklisted.
local function operation(fn, at)
    local ok, instruction = pcall(funcbc, fn, at)
    if ok and instruction then
        return band(instruction, 0xff), rshift(instruction, 16)
    end
end

local FUNCF = has_util and operation(function() end, 0)
local JFUNCF, LOOP, JLOOP = FUNCF and FUNCF + 2, FUNCF and FUNCF - 4, FUNCF and FUNCF - 2

-- Where a function's first loop begins.
local function loop_of(fn)
    local at = 0
    repeat
        local op = operation(fn, at)
        if op == LOOP then
            return at
        end
        at = at + 1
    until not op
end

-- The trace of a function that reaches its return, or nil.
local function whole_trace(fn)
    local op, trace = operation(fn, 0)
    if op == JFUNCF then
        local info = traceinfo(trace)
        return info and info.linktype == "return" and trace or nil
    end
end

-- -- sites --------------------------------------------------------------------------------------

-- Different functions that a loop may inline: each further one is a guard more on the way to the
-- next, and with some fifty the interpreter is faster.
local MOST = 24

-- Calls until the callbacks are looked at for the first time; LuaJIT compiles what is called a
-- hundred times. How often a loop that was not compiled is tried again.
local FIRST_LOOK, MOST_TRIES = 256, 3

--- Has a function compiled along a way on which it comes to no loop. A trace that begins with the
-- function and comes to a loop which is compiled already is an abort, each time it is tried; but an
-- exit of a trace that is there leads into the loop.
-- @tparam function fn
-- @param argument with this it returns at once
function _M.compile_beginning(fn, argument)
    for _ = 1, JFUNCF and 1000 or 0 do
        if operation(fn, 0) == JFUNCF then
            return
        end
        fn(argument)
    end
end

--- A place where callbacks of one kind are called, by a loop that is compiled in the end.
-- @tparam function loop has one loop, and does nothing when it is called with 0
-- @treturn table the site; `is_proved`: the loop may be used now
function _M.site(loop)
    _M.compile_beginning(loop, 0)
    local at = FUNCF and loop_of(loop)
    return {
        is_proved = false, loop = loop, at = at, wait = at and FIRST_LOOK or math.huge,
        patience = FIRST_LOOK, times = 0, tries = 0, seen = {}, n_seen = 0, is_compiled = false,
    }
end

--- Counts calls that did without the loop.
-- @treturn boolean is it time to look at the callbacks?
function _M.is_time(site, calls)
    site.wait = site.wait - calls
    return site.wait <= 0
end

--- Looks at a callback.
-- @treturn boolean may it be inlined?
function _M.is_plain(site, callback)
    local trace = whole_trace(callback)
    if not trace then
        return false
    end
    if not site.seen[trace] then
        site.seen[trace] = true
        site.n_seen = site.n_seen + 1
    end
    return site.n_seen <= MOST
end

--- The callbacks were looked at.
-- @tparam boolean are_plain
function _M.looked(site, are_plain)
    if are_plain and jit.status() then
        site.is_proved, site.wait = true, site.patience
    else
        site.is_proved = false
        site.patience = site.patience * 2
        site.wait = site.patience
        if site.n_seen > MOST then
            site.wait = math.huge
        end
    end
end

-- LuaJIT begins a loop's trace after some fifty times.
local ENOUGH = 120

--- The site's loop has run.
-- @tparam number times
function _M.has_run(site, times)
    if site.is_compiled then
        return
    end
    site.times = site.times + times
    site.is_compiled = operation(site.loop, site.at) == JLOOP
    if not site.is_compiled and site.times >= ENOUGH then
        site.times, site.tries = 0, site.tries + 1
        _M.looked(site, false)
        if site.tries == MOST_TRIES then
            site.wait = math.huge
        end
    end
end

for _, fn in ipairs {
    operation, loop_of, whole_trace, _M.compile_beginning, _M.site, _M.is_time, _M.is_plain,
    _M.looked, _M.has_run,
} do
    jit.off(fn)
end

return _M

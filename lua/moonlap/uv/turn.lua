--- uv.run: the phases of a turn in libuv's order.
--
-- All callbacks run inside one xpcall. Each phase keeps how far it is outside of its function and
-- moves on before it calls, so that after an error the same turn is simply entered again.
--
-- A turn is not compiled. It would be one trace with the callbacks in it, and each of those that
-- LuaJIT does not compile would in the end make it blacklist the turn, and then whoever calls
-- `uv.run`. What is compiled are leaves (functions that touch C, and call nothing of the user's),
-- the callbacks, each by itself, and loops over callbacks that are proved to be harmless.
-- @module moonlap.uv.turn

local C = require "moonlap.uv.ffi"
local ffi = require "ffi"
local barrier = require "moonlap.uv.barrier"
local check = require "moonlap.uv.check"
local closing = require "moonlap.uv.closing"
local due = require "moonlap.uv.due"
local fault = require "moonlap.uv.fault"
local handle = require "moonlap.uv.handle"
local loading = require "moonlap.uv.loading"
local loop = require "moonlap.uv.loop"
local pending = require "moonlap.uv.pending"
local queue = require "moonlap.uv.queue"
local req = require "moonlap.uv.req"
local spin = require "moonlap.uv.spin"
local stash = require "moonlap.uv.stash"
local timer = require "moonlap.uv.timer"
local watcher = require "moonlap.uv.watcher"

local _M = {}

ffi.cdef [[
int uv_loop_alive(const uv_loop_t *);
int uv_backend_fd(const uv_loop_t *);
int uv_backend_timeout(const uv_loop_t *);
]]

local q, c_loop = queue.q, queue.loop
local idle, prepare, checks = watcher.idle, watcher.prepare, watcher.check
local max, min, huge = math.max, math.min, math.huge

-- To compiled code a local function is a constant, and a module's field a table to look into.
local uvshim_look, uvshim_glance = C.uvshim_look, C.uvshim_glance
local uvshim_poll = C.uvshim_poll
local uvshim_turn, uvshim_pass = C.uvshim_turn, C.uvshim_pass
local uvshim_wait, uvshim_take = C.uvshim_wait, C.uvshim_take
local uv_loop_alive = C.uv_loop_alive
local run_closing, run_writes = closing.run, pending.run
local polled, now, work = loop.polled, loop.now, loop.work
local drain, next_closing = queue.drain, queue.next_closing
local forget, filled = queue.forget, queue.filled
local are_unfiled, earliest, is_exact = due.are_unfiled, due.earliest, due.is_exact
local run_timers, next_due = timer.run, timer.next_due
local run_watchers = watcher.run

-- From 1.45 on libuv runs timers at the end of a turn, and once before the first.
local TIMERS_LAST = C.uv_version() >= 0x012d00

-- Longer waits are taken in pieces; ms.
local LONGEST_WAIT = 2 ^ 31 - 1

-- The poll may wait so many ms, 0 for not at all, or as in uvshim.h.
local FOREVER, WHILE_ALIVE = -1, -2

-- The shim's answer that Lua has to wait, as in uvshim.h.
local WAIT = 2

local MOST_POLLS = 32

local mode = false -- while running: luv's name of the mode
local step = 0 -- the phase that a turn is at
local polls = 0 -- in this turn
local can_wait = true -- in mode "once": nothing was to be called at the start of the turn

-- -- leaves -------------------------------------------------------------------------------------

-- Each is compiled along the way that it goes mostly; where it goes another one, what follows is
-- left to the functions that are not compiled and can do everything. A leaf does not end in a tail
-- call of C or of LuaJIT's own functions: its trace would have no end. Parentheses help.

local function alive_in_c()
    return uv_loop_alive(c_loop) ~= 0
end

local has_more = 0 -- the last poll has left something to read
local lost = 0 -- records for which there was no memory

local function take_poll()
    filled()
    polled(q.now)
    has_more, lost = q.more, q.lost
end

local function poll_now(timeout)
    forget()
    uvshim_poll(q, timeout)
    take_poll()
end

local function has_nothing()
    return uvshim_look(q) == 0
end

local function glances_nothing()
    return uvshim_glance(q) == 0
end

-- A turn begins: has it nothing to call before its idle handles?
local function begins_quietly()
    if loop.stopped or work.writes > 0 or prepare.n > 0 or are_unfiled() then
        return false
    elseif loop.refs == 0
        and not ((handle.in_c > 0 or req.count > 0) and uv_loop_alive(c_loop) ~= 0) then
        return false
    end
    loop.stale = true
    if not TIMERS_LAST and earliest() < huge and earliest() <= now() then
        return false
    end
    can_wait = idle.active == 0 and not work.unheard
    work.unheard = false
    return true
end

-- Between the records of one turn and those of the next: polls, where nothing else than libuv has
-- anything to do meanwhile. Returns false when there is something, and nothing was done.
local function poll_next()
    if mode ~= "default" or loop.stopped or idle.active > 0 or prepare.n > 0 or checks.n > 0
        or work.closing > 0 or work.writes > 0 or work.stashed > 0 or work.records > 0
        or next_closing() or are_unfiled() or not is_exact() then
        return false
    end
    forget()
    local answer = uvshim_turn(q, loop.refs, handle.in_c + req.count, earliest())
    if answer == 0 then
        return false
    elseif answer == WAIT then
        uvshim_take(q, uvshim_wait(q))
    end
    work.unheard = false
    take_poll()
    return true
end

-- Behind the idle handles: polls and ends the turn, where it does not wait and nothing is there.
local function passes_quietly()
    if (mode ~= "nowait" and idle.active == 0) or loop.stopped or checks.n > 0 or work.closing > 0
        or work.writes > 0 or work.stashed > 0 or work.records > 0 or next_closing()
        or are_unfiled() then
        return false
    end
    local timers = (TIMERS_LAST or mode == "once") and earliest() or huge -- as in `finish`
    if uvshim_pass(q, handle.in_c + req.count, idle.active, timers) == 0 then
        return false
    end
    loop.stale = true
    work.unheard = false
    return true
end

-- Records are dispatched: has the turn nothing else to call?
local function ends_quietly()
    work.unheard = false
    if work.writes > 0 or work.closing > 0 or checks.n > 0 or next_closing() then
        return false
    elseif TIMERS_LAST or mode == "once" then
        loop.stale = true
        return not are_unfiled() and (earliest() == huge or earliest() > now())
    end
    return true
end

-- -- polling ------------------------------------------------------------------------------------

-- Handles of libuv and requests have events even if they keep nothing alive.
local function in_c()
    return handle.in_c > 0 or req.count > 0
end

-- What Lua has to do before it may wait again.
local function is_busy()
    return work.closing > 0 or work.records > 0 or work.writes > 0 or work.stashed > 0
        or work.unheard
end

local function is_alive_in_c()
    return in_c() and alive_in_c()
end

local function is_alive()
    return loop.refs > 0 or is_busy() or is_alive_in_c()
end

-- How long the poll may wait.
local function patience()
    if loop.stopped or idle.active > 0 or is_busy() then
        return 0
    end
    local time = next_due()
    if not time then
        return loop.refs > 0 and FOREVER or WHILE_ALIVE
    elseif loop.refs == 0 and not is_alive_in_c() then
        return 0
    end
    return (max(0, min(time - now(), LONGEST_WAIT)))
end

local function forget_lost()
    q.lost = 0
end

local function tell_lost()
    lost = 0
    forget_lost() -- told once
    error("moonlap.uv: out of memory, completions were lost", 0)
end

local function poll()
    -- The closing phase, which is uv_run's too, has polled already. To poll once more before Lua
    -- has heard of that would let libuv see sockets that are ready and that nobody reads from yet:
    -- it takes each out of the kernel's set, only to put it in again.
    if work.records > 0 then
        return
    end
    local timeout = 0
    if mode == "default" or (mode == "once" and can_wait) then
        timeout = patience()
    end
    if timeout ~= 0 or in_c() then
        if timeout == 0 and (idle.active > 0 and glances_nothing() or has_nothing()) then
            loop.stale = true
        else
            poll_now(timeout)
        end
    end
end

-- libuv reads from a stream up to 32 times in a turn, and calls back each time. The shim reads once
-- a poll: so where it has left something, there is another poll.
local function drain_all()
    if lost > 0 then
        tell_lost()
    end
    while work.records > 0 do
        drain()
        if has_more ~= 0 and polls < MOST_POLLS then
            polls = polls + 1
            poll_now(0)
            if lost > 0 then
                tell_lost()
            end
        end
    end
end

-- -- the turn -----------------------------------------------------------------------------------

-- From the beginning up to the poll.
local function begin()
    if step == 0 then
        local alive = is_alive()
        if loop.stopped or not alive then
            loop.stale = loop.stale or not alive -- a run that does nothing still reads the clock
            return false
        end
        loop.stale = true
        step = 1
    end
    if step == 1 then
        if not TIMERS_LAST then
            run_timers()
        end
        step = 2
    end
    if step == 2 then
        can_wait = idle.active == 0 and not work.unheard
        work.unheard = false
        if work.writes > 0 then
            pending.new_turn()
            can_wait = not pending.run_once() and can_wait
        end
        step = 3
    end
    if step == 3 then
        if mode ~= "default" then
            run_watchers(idle)
        elseif idle.n > 0 and not spin.run() then
            step = TIMERS_LAST and 9 or 10
            return true
        end
        step = 4
    end
    if prepare.n > 0 then
        run_watchers(prepare)
    end
    step = 5
    return true
end

-- What comes after the records.
local function finish()
    if step == 6 then
        if work.writes > 0 then
            run_writes()
        end
        work.unheard = false
        step = 7
    end
    if step == 7 then
        if checks.n > 0 then
            run_watchers(checks)
        end
        step = 8
    end
    if step == 8 then
        if work.closing > 0 or next_closing() then
            run_closing()
        end
        step = 9
    end
    if step == 9 then
        if TIMERS_LAST or mode == "once" then
            loop.stale = true
            run_timers()
        end
    end
end

local function turns()
    repeat
        if step == 0 and begins_quietly() then
            step = 5
            if idle.n > 0 then
                step = 3
                if mode ~= "default" then -- as `begin` does, which has more to ask
                    run_watchers(idle)
                    step = prepare.n > 0 and 4 or 5
                end
            end
        end
        if step < 5 and not begin() then
            return
        end
        if step == 5 then
            if passes_quietly() then
                step = 0
                goto over
            end
            poll()
            polls, step = 1, 6
        end
        if step == 6 then
            repeat
                if work.stashed > 0 then
                    stash.deliver()
                end
                drain_all()
                polls = 1
            until not poll_next()
            if ends_quietly() then
                step = 10
            end
        end
        if step < 10 then
            finish()
        end
        step = 0
        ::over::
    until mode ~= "default"
end

-- 1.45 and later: timers that are due before the first turn.
local function timers_first()
    loop.stale = true
    run_timers()
end

local describe = fault.describe

local function guarded(phase)
    while true do
        local ok, err = xpcall(phase, describe)
        if ok then
            return
        end
        fault.handle(err)
        if fault.is_fatal() then
            mode, loop.stopped = false, false
            fault.raise()
        end
    end
end

local api = {}
_M.api = api

local MODES = { default = "default", once = "once", nowait = "nowait" }

local function run(how)
    how = how == nil and "default" or how
    if not MODES[how] then
        check.argument_error(1, ("invalid option '%s'"):format(check.string(1, how)))
    end
    if mode then
        return nil, "loop already running"
    end
    mode = how
    loading.settle()
    if TIMERS_LAST and how == "default" and step == 0 and not loop.stopped and is_alive() then
        guarded(timers_first)
    end
    guarded(turns)
    mode, loop.stopped = false, false
    return loop.refs > 0 or is_alive()
end

--- Runs the loop, in the state's main coroutine.
-- @function run
-- @tparam[opt="default"] string how `"default"`: until nothing keeps it alive, or `uv.stop`;
--   `"once"`: one turn, which may wait; `"nowait"`: one turn
-- @treturn boolean is the loop still alive? Fails when it is running already
api.run = barrier.on_main(run)

--- How the loop is being run.
-- @treturn string|nil as given to `uv.run`, or nil
function api.loop_mode()
    return mode or nil
end

--- Does anything keep the loop alive?
-- @treturn boolean
function api.loop_alive()
    return is_alive()
end

--- Makes `uv.run` return after this turn.
function api.stop()
    loop.stopped = true
end

--- The turn's time.
-- @treturn number ms, from an arbitrary start
function api.now()
    return loop.now()
end

--- Reads the clock anew.
function api.update_time()
    polled(C.uvshim_update_time(q))
end

--- The file descriptor that libuv polls.
-- @treturn number
function api.backend_fd()
    return (C.uv_backend_fd(c_loop))
end

--- How long the poll would wait now.
-- @treturn number ms; -1 for ever
function api.backend_timeout()
    local timeout = q.sent > 0 and 0 or patience() -- the descriptor does not tell of those
    if timeout ~= 0 and is_alive_in_c() then
        local in_libuv = C.uv_backend_timeout(c_loop)
        if timeout < 0 or (in_libuv >= 0 and in_libuv < timeout) then
            return in_libuv
        end
    elseif timeout == WHILE_ALIVE then
        return 0
    end
    return timeout
end

for _, fn in ipairs {
    in_c, is_busy, is_alive_in_c, is_alive, patience, tell_lost, poll, drain_all, begin, finish,
    turns, timers_first, guarded, run,
} do
    jit.off(fn)
end

return _M

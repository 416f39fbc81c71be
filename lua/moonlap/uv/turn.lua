--- uv.run: the phases of a turn in libuv's order.
--
-- All callbacks run inside one xpcall. Each phase keeps how far it is outside of its function and
-- moves on before it calls, so that after an error the same turn is simply entered again.
-- @module moonlap.uv.turn

local C = require "moonlap.uv.ffi"
local ffi = require "ffi"
local check = require "moonlap.uv.check"
local closing = require "moonlap.uv.closing"
local fault = require "moonlap.uv.fault"
local handle = require "moonlap.uv.handle"
local loop = require "moonlap.uv.loop"
local pending = require "moonlap.uv.pending"
local queue = require "moonlap.uv.queue"
local reading = require "moonlap.uv.reading"
local req = require "moonlap.uv.req"
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
local max, min = math.max, math.min

-- To compiled code a local function is a constant, and a module's field a table to look into.
local uvshim_look, uvshim_poll = C.uvshim_look, C.uvshim_poll
local uv_loop_alive = C.uv_loop_alive
local is_closing_due, run_closing = closing.is_due, closing.run
local new_turn, polled, now = loop.new_turn, loop.polled, loop.now
local are_writes_waiting, run_writes = pending.waiting, pending.run
local is_unheard, hear = pending.is_unheard, pending.hear
local are_records_waiting, drain, next_closing = queue.waiting, queue.drain, queue.next_closing
local is_stash_waiting = reading.waiting
local run_timers, next_due = timer.run, timer.next_due

-- From 1.45 on libuv runs timers at the end of a turn, and once before the first.
local TIMERS_LAST = C.uv_version() >= 0x012d00

-- Longer waits are taken in pieces; ms.
local LONGEST_WAIT = 2 ^ 31 - 1

local MOST_POLLS = 32

local mode = false -- while running: luv's name of the mode
local stopped = false
local step = 0 -- the phase that a turn is at
local polls = 0 -- in this turn
local can_wait = true -- in mode "once": nothing was to be called at the start of the turn

-- Handles of libuv and requests have events even if they keep nothing alive.
local function in_c()
    return handle.in_c > 0 or req.count > 0
end

-- What Lua has to do before it may wait again.
local function is_busy()
    return is_closing_due() or are_records_waiting() or are_writes_waiting()
        or is_stash_waiting() or is_unheard()
end

local function is_alive_in_c()
    return in_c() and uv_loop_alive(c_loop) ~= 0
end

local function is_alive()
    return loop.refs > 0 or is_busy() or is_alive_in_c()
end

-- How long the poll may wait: ms, 0 for not at all, or as in uvshim.h.
local FOREVER, WHILE_ALIVE = -1, -2

local function patience()
    if stopped or idle.active > 0 or is_busy() then
        return 0
    end
    local due = next_due()
    if not due then
        return loop.refs > 0 and FOREVER or WHILE_ALIVE
    elseif loop.refs == 0 and not is_alive_in_c() then
        return 0
    end
    return max(0, min(due - now(), LONGEST_WAIT))
end

local function check_lost()
    if q.lost > 0 then
        q.lost = 0 -- told once
        error("moonlap.uv: out of memory, completions were lost", 0)
    end
end

local function poll()
    -- The closing phase, which is uv_run's too, has polled already. To poll once more before Lua
    -- has heard of that would let libuv see sockets that are ready and that nobody reads from yet:
    -- it takes each out of the kernel's set, only to put it in again.
    if are_records_waiting() then
        return check_lost()
    end
    local timeout = 0
    if mode == "default" or (mode == "once" and can_wait) then
        timeout = patience()
    end
    if timeout ~= 0 or in_c() then
        if timeout == 0 and uvshim_look(q) == 0 then
            new_turn()
        else
            uvshim_poll(q, timeout)
            polled()
        end
        check_lost()
    end
end

-- libuv reads from a stream up to 32 times in a turn, and calls back each time. The shim reads once
-- a poll: so where it has left something, there is another poll.
local function poll_again()
    if q.more ~= 0 and polls < MOST_POLLS then
        polls = polls + 1
        uvshim_poll(q, 0)
        check_lost()
    end
end

local function turns()
    while true do
        if step == 0 then
            if stopped or not is_alive() then
                return
            end
            new_turn()
            step = 1
        end
        if step == 1 then
            if not TIMERS_LAST then
                run_timers()
            end
            step = 2
        end
        if step == 2 then
            can_wait = idle.active == 0 and not is_unheard()
            hear()
            if are_writes_waiting() then
                pending.new_turn()
                can_wait = not pending.run_once() and can_wait
            end
            step = 3
        end
        if step == 3 then
            if idle.n > 0 then
                watcher.run(idle)
            end
            step = 4
        end
        if step == 4 then
            if prepare.n > 0 then
                watcher.run(prepare)
            end
            step = 5
        end
        if step == 5 then
            poll()
            polls = 1
            step = 6
        end
        if step == 6 then
            if is_stash_waiting() then
                reading.deliver_stashed()
            end
            while are_records_waiting() do
                drain()
                poll_again()
            end
            if are_writes_waiting() then
                run_writes()
            end
            hear()
            step = 7
        end
        if step == 7 then
            if checks.n > 0 then
                watcher.run(checks)
            end
            step = 8
        end
        if step == 8 then
            if is_closing_due() or next_closing() then
                run_closing()
            end
            step = 9
        end
        if step == 9 then
            if TIMERS_LAST or mode == "once" then
                new_turn()
                run_timers()
            end
            step = 0
        end
        if mode ~= "default" then
            return
        end
    end
end

-- 1.45 and later: timers that are due before the first turn.
local function timers_first()
    new_turn()
    run_timers()
end

local function guarded(phase)
    while not xpcall(phase, fault.report) do
        if fault.is_fatal() then
            mode, stopped = false, false
            fault.raise()
        end
    end
end

local api = {}
_M.api = api

local MODES = { default = "default", once = "once", nowait = "nowait" }

--- Runs the loop.
-- @tparam[opt="default"] string how `"default"`: until nothing keeps it alive, or `uv.stop`;
--   `"once"`: one turn, which may wait; `"nowait"`: one turn
-- @treturn boolean is the loop still alive? or nil and an error when it is running already
function api.run(how)
    how = how == nil and "default" or how
    if not MODES[how] then
        check.argument_error(1, ("invalid option '%s'"):format(check.string(1, how)))
    end
    if mode then
        return nil, "loop already running"
    end
    mode = how
    if not is_alive() then
        new_turn() -- as in libuv, a run that does nothing still reads the clock
    end
    if step == 0 and TIMERS_LAST and how == "default" and not stopped and is_alive() then
        guarded(timers_first)
    end
    guarded(turns)
    mode, stopped = false, false
    return is_alive()
end

--- How the loop is being run.
-- @treturn string|nil the argument of `uv.run`; nil when it does not run
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
    stopped = true
end

--- The turn's time.
-- @treturn number ms, from an arbitrary start
function api.now()
    return loop.now()
end

--- Reads the clock anew.
function api.update_time()
    C.uvshim_update_time(q)
    polled()
end

--- The file descriptor that libuv polls.
-- @treturn number
function api.backend_fd()
    return C.uv_backend_fd(c_loop)
end

--- How long the poll would wait now.
-- @treturn number ms; -1 for ever
function api.backend_timeout()
    local timeout = patience()
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

return _M

--- The order of what is written to a handle, and the callbacks of what the kernel took at once.
--
-- A handle's writes end in the order in which they began, whether the kernel took them at once or
-- libuv has them: each has an entry in the handle's list `h.done` until its callback was called.
-- libuv keeps handles with completed writes in its pending queue: it calls back before the poll,
-- and after it up to eight rounds, since a callback may write again. So it is done here; a handle
-- stands in the queue once, with all writes that it has completed by then. What libuv has not: a
-- handle that has had callbacks for 1 MiB in this turn waits for the next one. Whoever writes
-- further ahead of a reader in the same process only pushes the bytes out of the cache.
-- @module moonlap.uv.pending

local errors = require "moonlap.uv.errors"
local work = require("moonlap.uv.loop").work

local _M = {}

local type = type

local ROUNDS = 8
local MOST_BYTES = 1024 * 1024

-- Handles for the next round; the round being run and how far.
local waiting, n_waiting = {}, 0
local round, n_round, at = {}, 0, 0
local rounds_left = 0
-- The handle whose callbacks are being called, and the last entry that they may take.
local current, limit = false, 0
local turn = 0

-- `work.writes` counts the handles in all three.

-- A list has three slots an entry: the callback; what came of it: false, an error's name, or the
-- record of the request that is still under way; and the number of bytes.
local function append(h, callback, outcome, size)
    local done = h.done
    if not done then
        done = { first = 1, n = 0, queued = false, turn = 0, called = 0, is_shut = false }
        h.done = done
    end
    local n = done.n + 3
    done.n = n
    done[n - 2], done[n - 1], done[n] = callback, outcome, size
    return done
end

local function enqueue_when_complete(h, done)
    if not done.queued and done.first < done.n and type(done[done.first + 1]) ~= "table" then
        done.queued = true
        local n = n_waiting + 1
        n_waiting = n -- before the list gets longer: see moonlap.uv.timer_records
        waiting[n] = h
        work.writes = work.writes + 1
    end
end

local function pop(done)
    local first = done.first
    local callback, outcome, size = done[first], done[first + 1], done[first + 2]
    done[first], done[first + 1], done[first + 2] = nil, nil, nil
    done.first = first + 3
    return callback, outcome, size
end

local function forget_places(done)
    if done.first > done.n then
        done.first, done.n = 1, 0
    end
end

--- A write is complete.
-- @tparam table h its record; the field `done` is false at first
-- @tparam function|nil callback
-- @tparam number size bytes
-- @tparam[opt] string err
function _M.add(h, callback, size, err)
    if not callback then
        work.unheard = true
        return
    end
    enqueue_when_complete(h, append(h, callback, err or false, size))
end

--- A shutdown is complete.
-- @tparam table h
-- @tparam function|nil callback
function _M.add_shutdown(h, callback)
    _M.add(h, callback, 0)
    if callback then
        h.done.is_shut = true
    end
end

--- Does the callback of a shutdown wait? It is a handle's last one.
-- @tparam table h
-- @treturn boolean
function _M.is_shutting(h)
    local done = h.done
    return done and done.is_shut and done.first < done.n
end

--- libuv has begun a write.
-- @tparam table h
-- @tparam table r the request's record
function _M.start(h, r)
    r.a, r.b = h, append(h, false, r, 0).n
end

--- libuv has ended a write: what decodes such a request.
-- @tparam table r
-- @tparam number status
-- @treturn string|nil the error's name for the callback
function _M.ended(r, status)
    local h, err = r.a, errors.status(status)
    local done = h.done
    if done[done.first + 1] == r then
        pop(done)
        forget_places(done)
        enqueue_when_complete(h, done)
        return err
    end
    -- Others that are complete stand before it and have not been called yet.
    local place = r.b
    done[place - 2], done[place - 1] = r.callback, err or false
    r.callback = false
end

-- Moves on before each call, so that it can be entered again after an error.
local function call_current()
    local h = current
    local done = h.done
    if done.turn ~= turn then
        done.turn, done.called = turn, 0
    end
    while done.first < limit and type(done[done.first + 1]) ~= "table"
        and (done.called < MOST_BYTES or h.closing) do
        local callback, err, size = pop(done)
        done.called = done.called + size
        if callback then
            callback(err or nil)
        end
    end
    current, work.writes = false, work.writes - 1
    forget_places(done)
    enqueue_when_complete(h, done)
end

jit.off(call_current)

local function run_round()
    if current then
        call_current()
    end
    while at < n_round do
        at = at + 1
        local h = round[at]
        local done = h.done
        round[at], done.queued = false, false
        if h.closing then
            work.writes = work.writes - 1
        else
            current, limit = h, done.n
            call_current()
        end
    end
    n_round, at = 0, 0
end

jit.off(run_round)

local function next_round()
    waiting, round = round, waiting
    n_round, n_waiting = n_waiting, 0
end

--- A turn begins.
function _M.new_turn()
    turn = turn + 1
end

--- Before the poll: one round.
-- @treturn boolean was there anything to call?
function _M.run_once()
    local any = n_round > 0 or current ~= false
    if not any and n_waiting > 0 then
        next_round()
        any = true
    end
    if any then
        run_round()
    end
    return any
end

--- After the poll: as many rounds as libuv runs.
function _M.run()
    if rounds_left == 0 then
        rounds_left = ROUNDS
    end
    if n_round > 0 or current then
        run_round()
    end
    while rounds_left > 0 and n_waiting > 0 do
        rounds_left = rounds_left - 1
        next_round()
        run_round()
    end
    rounds_left = 0
end

jit.off(_M.run)

--- A handle is being closed: its callbacks come now, before the close callback.
-- @tparam table h
function _M.last_calls(h)
    if h.done then
        if current then -- an error in a callback has left it
            local other = current
            current, work.writes = false, work.writes - 1
            enqueue_when_complete(other, other.done)
        end
        current, limit, work.writes = h, h.done.n, work.writes + 1
        call_current()
    end
end

jit.off(_M.last_calls)

return _M

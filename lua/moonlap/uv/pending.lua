--- Writes that the kernel took at once, whose callbacks are still to come.
--
-- libuv keeps such streams in its pending queue: it calls back before the poll, and after it up
-- to eight rounds, since a callback may write again. A stream stands in the queue once, with all
-- writes that it has completed by then.
-- @module moonlap.uv.pending

local _M = {}

local ROUNDS = 8

local waiting, n_waiting = {}, 0
-- The round being run: its streams, how far; the writes of the stream at hand, how far.
local round, n_round, at = {}, 0, 0
local writes, write_at = false, 0
local rounds_left = 0

--- Are there callbacks to come?
-- @treturn boolean
function _M.waiting()
    return n_waiting > 0 or n_round > 0
end

--- A write is complete.
-- @tparam table h the stream; its field `done` is false or a list of callbacks and errors
-- @tparam function callback
-- @tparam[opt] string err
function _M.add(h, callback, err)
    local done = h.done
    if not done then
        done = { n = 0 }
        h.done = done
        n_waiting = n_waiting + 1
        waiting[n_waiting] = h
    end
    local n = done.n + 2
    done.n, done[n - 1], done[n] = n, callback, err or false
end

-- Calls the writes of one stream; moves on before each call, so that it can be entered again.
local function call_writes()
    while write_at < writes.n do
        local callback, err = writes[write_at + 1], writes[write_at + 2]
        write_at = write_at + 2
        callback(err or nil)
    end
    writes, write_at = false, 0
end

local function run_round()
    if writes then
        call_writes()
    end
    while at < n_round do
        at = at + 1
        local h = round[at]
        round[at] = false
        if h.done and not h.closing then
            writes, h.done = h.done, false
            call_writes()
        end
    end
    n_round, at = 0, 0
end

local function next_round()
    waiting, round = round, waiting
    n_round, n_waiting = n_waiting, 0
end

--- Before the poll: one round.
-- @treturn boolean was there anything to call?
function _M.run_once()
    local any = n_round > 0
    if n_round == 0 and n_waiting > 0 then
        next_round()
        any = true
    end
    if any or writes then
        run_round()
    end
    return any
end

--- After the poll: as many rounds as libuv runs.
function _M.run()
    if rounds_left == 0 then
        rounds_left = ROUNDS
    end
    if n_round > 0 or writes then
        run_round()
    end
    while rounds_left > 0 and n_waiting > 0 do
        rounds_left = rounds_left - 1
        next_round()
        run_round()
    end
    rounds_left = 0
end

--- A stream is being closed: its callbacks come now, before the close callback.
function _M.last_calls(h)
    if h.done and not writes then
        writes, h.done = h.done, false
    end
    if writes then
        call_writes()
    end
end

return _M

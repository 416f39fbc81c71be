--- The records of timers: of each eight elements of one table, and no table of its own.
--
-- There may be a million of them, most of them for moments only. A record is named by the place of
-- its first element, and stands in a ring: alone, or in one of `moonlap.uv.due`. To start and to
-- stop one is thus a few stores without a branch, so the trace of them serves all cases; each
-- further trace would go on into the caller, who as a rule makes a closure, which is not compiled.
--
-- The table never shrinks: Lua makes an array smaller only by making another table, and this one
-- is a constant of compiled code. So a program keeps 64 bytes for each of the most timers that it
-- ever had at a time.
-- @module moonlap.uv.timer_records

local userdata = require "moonlap.uv.userdata"

local _M = {}

local max = math.max

-- Elements of a record.
local USERDATA, CALLBACK, NEXT, PREVIOUS, DUE, INTERVAL, REFS, HELD = 0, 1, 2, 3, 4, 5, 6, 7
local SIZE = 8

--- What stands where in a record: `records[place + FIELD.due]`.
-- `userdata`: false for a record that is no timer; `callback`: function or false, of a closing
-- timer its close callback; `next` and `previous` in the ring, 0 for a closing timer; `due`: ms on
-- the loop's clock; `interval`: ms; `refs`: how many references it has to the loop when it is
-- active, 0 or 1; `held`: how many it has now.
_M.FIELD = {
    userdata = USERDATA, callback = CALLBACK, next = NEXT, previous = PREVIOUS, due = DUE,
    interval = INTERVAL, refs = REFS, held = HELD,
}

local records = {}

--- The table that they all stand in.
_M.records = records

-- Before the first one, so that each lies in one or two lines of the cache, and never in three.
local FIRST = 6
for i = 1, FIRST - 1 do
    records[i] = 0
end
local n_places = 0

-- A finalizer may run wherever a trace ends, as where `free` gets longer, and may make and close
-- timers. So here and in other such lists the count is changed first, and then the place that it
-- names; a place may be empty, and what is lost of the list is nobody's.
local free, n_free = {}, 0

-- The handles' numbers in the order of creation, for each record; seldom wanted.
local born = {}

--- A record that is free, alone in its ring.
-- @treturn number its place
function _M.take()
    local n, at = n_free, false
    if n > 0 then
        n_free = n - 1
        at = free[n]
        free[n] = false
    end
    if not at then
        n = n_places
        n_places = n + 1
        at = FIRST + n * SIZE
    end
    -- In this order: at the table's end that makes its array longer.
    records[at + USERDATA], records[at + CALLBACK] = false, false
    records[at + NEXT], records[at + PREVIOUS] = at, at
    records[at + DUE], records[at + INTERVAL] = 0, 0
    records[at + REFS], records[at + HELD] = 1, 0
    return at
end

--- Gives a record back.
-- @tparam number at its place
-- @treturn function|false its callback
function _M.release(at)
    local callback = records[at + CALLBACK]
    records[at + USERDATA], records[at + CALLBACK] = false, false
    local n = n_free + 1
    n_free = n
    free[n] = at
    return callback
end

--- Takes a record out of its ring; it is alone then.
-- @tparam number at
function _M.unlink(at)
    local following, before = records[at + NEXT], records[at + PREVIOUS]
    records[before + NEXT], records[following + PREVIOUS] = following, before
    records[at + NEXT], records[at + PREVIOUS] = at, at
end

--- Puts a record that is alone at the end of a ring.
-- @tparam number ring the record that stands for it
-- @tparam number at
function _M.append(ring, at)
    local last = records[ring + PREVIOUS]
    records[last + NEXT], records[at + PREVIOUS] = at, last
    records[at + NEXT], records[ring + PREVIOUS] = ring, at
end

--- What all closed timers share.
_M.CLOSED = _M.take()
records[_M.CLOSED + NEXT], records[_M.CLOSED + REFS] = 0, 0

-- -- userdata -----------------------------------------------------------------------------------

-- So many are made at once.
local LOT = 128

local metatable, make = userdata.kind()
local ready, n_ready = {}, 0

--- The metatable of all timers.
_M.metatable = metatable

-- Compiled, since the interpreter takes long for `set_number`. A finalizer that runs meanwhile may
-- make timers, too: so each of these steps leaves the list in order.
local function add(made)
    for i = 1, #made do
        local one = made[i]
        local at = _M.take()
        userdata.set_number(one, at)
        local n = n_ready + 1
        n_ready = n
        ready[n] = one
    end
end

-- Not compiled: whoever comes here is not compiled along this way, which he seldom goes.
local function make_one(number)
    add(make(LOT))
    return (_M.new(number))
end
jit.off(make_one)

--- A new timer.
-- @tparam number number of the handle, in the order of creation
-- @treturn userdata
function _M.new(number)
    local n = n_ready
    n_ready = max(0, n - 1)
    local new = ready[n]
    ready[n] = false
    if not new then
        return make_one(number)
    end
    local at = userdata.number(new)
    records[at + USERDATA] = new
    born[(at - FIRST) / SIZE + 1] = number
    return new
end

--- The place of a timer's record.
-- @tparam userdata timer with the metatable above
-- @treturn number `CLOSED` for one that is closed and forgotten
function _M.place(timer)
    local at = userdata.number(timer)
    if records[at] == timer then
        return at
    end
    return _M.CLOSED
end

--- Calls a function with every timer that is not closed.
-- @tparam function callback of the userdata and its number in the order of creation
function _M.each(callback)
    for i = 0, n_places - 1 do
        local at = FIRST + i * SIZE
        if records[at + USERDATA] then
            callback(records[at + USERDATA], born[i + 1])
        end
    end
end

return _M

--- Timers in the order in which they are due.
--
-- Timers that are due in the same millisecond stand in one ring in the order in which they were
-- started, which is libuv's order too; a binary heap holds the distinct due times only. Started
-- timers wait in a ring of their own until somebody wants to know: then they are filed.
--
-- Whoever starts a timer may be compiled, so `start` is straight. What has loops is not compiled,
-- as a loop that is mostly left at once would be blacklisted; but many timers are filed by one.
-- @module moonlap.uv.due

local dispatch = require "moonlap.uv.dispatch"
local timer_records = require "moonlap.uv.timer_records"

local _M = {}

local records, FIELD = timer_records.records, timer_records.FIELD
local NEXT, PREVIOUS, DUE = FIELD.next, FIELD.previous, FIELD.due
local COUNT = FIELD.interval -- of a record that stands for a ring: timers ever put into it
local take, release, append = timer_records.take, timer_records.release, timer_records.append
local floor, min, huge = math.floor, math.min, math.huge

-- Timers that were started, in that order.
local started = take()

local rings = {} -- by due time
local heap, heaped = {}, 0 -- due times

-- The first due time and its ring; where there is none, infinity and a ring that is never empty. So
-- who asks needs no branch.
local NONE = take()
append(NONE, take())
local earliest, first_ring = huge, NONE

local function note_first()
    earliest = heap[1] or huge
    first_ring = rings[earliest] or NONE
end

local function push(due)
    heaped = heaped + 1
    local i = heaped
    while i > 1 do
        local parent = floor(i / 2)
        if heap[parent] <= due then
            break
        end
        heap[i] = heap[parent]
        i = parent
    end
    heap[i] = due
end

local function pop()
    local due = heap[heaped]
    heap[heaped] = nil
    heaped = heaped - 1
    local i = 1
    while true do
        local child = i * 2
        if child > heaped then
            break
        end
        if child < heaped and heap[child + 1] < heap[child] then
            child = child + 1
        end
        if due <= heap[child] then
            break
        end
        heap[i] = heap[child]
        i = child
    end
    if heaped > 0 then
        heap[i] = due
    end
end

local function make_ring(due)
    local ring = take()
    rings[due] = ring
    push(due)
    note_first()
end

-- How many were started since the last filing, at most: those that were stopped count, too.
local n_started = 0

--- Starts a timer that is alone.
-- @tparam number at its record's place; its `due` is set
function _M.start(at)
    n_started = n_started + 1
    append(started, at)
end

--- Are there started timers that are not filed?
-- @treturn boolean
function _M.are_unfiled()
    return records[started + NEXT] ~= started
end

local function put(ring, at)
    records[ring + COUNT] = records[ring + COUNT] + 1
    append(ring, at)
end

-- From these many on a loop is compiled: over timers to file, and over those of a ring to call.
local MANY_TO_FILE, MANY = 32, 128

-- Files timers up to the first one that has no ring yet, which it returns.
local function file_many(at)
    if at == 0 then
        return
    end
    while at ~= started do
        local ring = rings[records[at + DUE]]
        if not ring then
            return at
        end
        local following = records[at + NEXT]
        put(ring, at)
        at = following
    end
    return at
end

dispatch.compile_beginning(file_many, 0)

--- Files the timers that were started since.
function _M.file()
    local at = records[started + NEXT]
    local is_many = n_started >= MANY_TO_FILE
    while at ~= started do
        local due = records[at + DUE]
        if not rings[due] then
            make_ring(due)
        end
        if is_many then
            at = file_many(at)
        else
            local following = records[at + NEXT]
            put(rings[due], at)
            at = following
        end
    end
    n_started = 0
    records[started + NEXT], records[started + PREVIOUS] = started, started
end

-- Forgets the first due time, for which there are no timers any more.
local function forget_first()
    local due = heap[1]
    release(rings[due])
    rings[due] = nil
    pop()
    note_first()
end

--- The ring of the timers that are due first and filed.
-- @treturn number|nil the place of the record that stands for it; the timers follow in order
-- @treturn number|nil when they are due
local function first()
    while heaped > 0 do
        local due = heap[1]
        local ring = rings[due]
        if records[ring + NEXT] ~= ring then
            return ring, due
        end
        forget_first()
    end
end

_M.first = first

--- Are there as many timers in a ring that a loop over them is compiled?
-- @tparam number ring
-- @treturn boolean
function _M.is_large(ring)
    return records[ring + COUNT] >= MANY
end

--- Is `earliest` the time of a timer that was not stopped meanwhile?
-- @treturn boolean true also when there is none
function _M.is_exact()
    return records[first_ring + NEXT] ~= first_ring
end

--- A time before which no filed timer is due.
-- @treturn number ms on the loop's clock; infinite when there are none
function _M.earliest()
    return earliest
end

--- When the first timer is due, filed or not.
-- @treturn number|nil ms on the loop's clock
function _M.time()
    local _, due = first()
    local at = records[started + NEXT]
    while at ~= started do
        due = min(due or records[at + DUE], records[at + DUE])
        at = records[at + NEXT]
    end
    return due
end

for _, fn in ipairs { push, pop, note_first, make_ring, _M.file, forget_first, first, _M.time } do
    jit.off(fn)
end

return _M

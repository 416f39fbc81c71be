--- Timers in the order in which they are due.
--
-- Timers that are due in the same millisecond stand in one ring in the order in which they were
-- started, which is libuv's order too; a binary heap holds the distinct due times only. Started
-- timers wait in a ring of their own until somebody wants to know: then one compiled loop files
-- them all.
-- @module moonlap.uv.due

local timer_records = require "moonlap.uv.timer_records"

local _M = {}

local records, FIELD = timer_records.records, timer_records.FIELD
local NEXT, PREVIOUS, DUE = FIELD.next, FIELD.previous, FIELD.due
local take, release, append = timer_records.take, timer_records.release, timer_records.append
local floor, min = math.floor, math.min

-- Timers that were started, in that order.
local started = take()

local rings = {} -- by due time
local heap, heaped = {}, 0 -- due times

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

local function ring_of(due)
    local ring = rings[due]
    if not ring then
        ring = take()
        rings[due] = ring
        push(due)
    end
    return ring
end

--- Starts a timer that is alone.
-- @tparam number at its record's place; its `due` is set
function _M.start(at)
    append(started, at)
end

--- Files the timers that were started since.
function _M.file()
    local at = records[started + NEXT]
    if at == started then
        return
    end
    repeat
        local following = records[at + NEXT]
        append(ring_of(records[at + DUE]), at)
        at = following
    until at == started
    records[started + NEXT], records[started + PREVIOUS] = started, started
end

-- Forgets the first due time, for which there are no timers any more.
local function forget_first()
    local due = heap[1]
    release(rings[due])
    rings[due] = nil
    pop()
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

return _M

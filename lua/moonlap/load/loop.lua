--- The event loop of one thread: waits, hands events to connections, keeps the time.
-- @module moonlap.load.loop
local ffi = require "ffi"
local connection = require "moonlap.load.connection"
local exchange = require "moonlap.load.exchange"
local kernel = require "moonlap.load.kernel"
local reading = require "moonlap.load.reading"
local socket = require "moonlap.load.socket"
local timers = require "moonlap.load.timers"

local _M = {}

local now, wait = kernel.now, kernel.wait
local on_event, on_wake, overdue = reading.on_event, connection.on_wake, connection.overdue
local fail = connection.fail
local first_idle, take_idle = exchange.first_idle, exchange.take_idle
local take_due, issue = exchange.take_due, exchange.issue
local huge = math.huge

local EPOLLIN = 1
local MOST_EVENTS = 512
local CONTROL = 0xffffffff      -- the id of the coordinator's socket
_M.CONTROL = CONTROL

-- Waiting ends this much early for a request that is due, and the rest is spent asking: a sleep
-- always ends late. How late is measured as it goes.
local FIRST_MARGIN, MOST_MARGIN = 3e4, 1.5e5

-- A thread that is away for longer, in ns, stood still. It asks to be woken so often that it can
-- tell: who sleeps for good does not know how long another kept it from waking.
local STILL, NAP = 1e6, 1e7

-- Who sleeps is woken some 50 µs late, which is as long as a fast answer takes. So in an open loop,
-- where a processor is to spare, the thread asks again and again for so long, in ns, after the last
-- request or answer. A gap shows that another needs the processor: then it sleeps for a while.
local AWAKE, CROWDED, TIRED = 1e6, 2e5, 1e8
local MOST_STOPS = 64 -- that a slice lists


--- A loop without connections.
-- @tparam table self gets the loop's fields
function _M.init(self)
    self.epoll = socket.epoll()
    self.events = ffi.new("moonlap_load_event[?]", MOST_EVENTS)
    self.timers = timers.new()
    self.conns = {}
    self.margin = FIRST_MARGIN
    self.event_at, self.event_count = 0, 0
    self.stops, self.stop_count = ffi.new("double[?]", MOST_STOPS), 0
    self.scan_ns = math.max(1e6, math.min(self.timeout_ns / 20, 5e7))
    self.next_scan, self.woke, self.origin = now() + self.scan_ns, 0, 0
    self.current = false
    self.active, self.sleepy, self.spun = 0, self.may_spin and 0 or huge, 0
end


-- Requests that are due, as long as connections are idle.
local function dispatch(self, side, t)
    local conn = first_idle(side)
    while conn and side.sending do
        local due = take_due(self, side, t)
        if not due then
            return
        end
        self.lag:record(t - due)
        take_idle(side, conn)
        self.active = t
        issue(self, conn, t, due)
        conn = first_idle(side)
    end
end


-- Lets fail what took too long. A scan that comes late says that this thread stood still: on a busy
-- machine, or in a script. Nobody looked for answers meanwhile, so that is no time of theirs.
local function scan(self, t)
    local late = t - self.next_scan
    local away = late > self.scan_ns and late or 0
    self.next_scan = t + self.scan_ns
    local conns = self.conns
    for i = 0, self.last_conn do
        local conn = conns[i]
        if overdue(self, conn, t, away) then
            on_event(self, conn, EPOLLIN) -- an answer that has come is read, not called missing
            local words = overdue(self, conn, t, 0)
            if words then
                fail(self, conn, "timeout", words, t)
            end
        end
    end
end

_M.scan = scan


-- Takes note of how long the thread was away; behind the last place they are added up.
local function note(self, ns)
    local at = self.stop_count
    if at < MOST_STOPS then
        self.stop_count = at + 1
        self.stops[at] = ns
    else
        self.stops[at - 1] = self.stops[at - 1] + ns
    end
end


--- How long the thread was away each time, in ns, since this was last asked: a list, or nil.
function _M.take_stops(self)
    local list
    for i = 0, self.stop_count - 1 do
        list = list or {}
        list[i + 1] = self.stops[i]
    end
    self.stop_count = 0
    return list
end


-- Waits awake until a time, or until there are events: how many.
local function spin(self, from, stop)
    local epoll, events = self.epoll, self.events
    local t = from
    while true do
        local count = wait(epoll, events, MOST_EVENTS, 0)
        local back = now()
        if back - t > CROWDED then
            self.sleepy, stop = back + TIRED, 0
            if back - t > STILL then
                self.lag:record(back - t)
                note(self, back - t)
            end
        else
            self.spun = self.spun + (back - t)
        end
        if count ~= 0 or back >= stop then
            return count
        end
        t = back
    end
end


local function handle_events(self)
    local events, conns = self.events, self.conns
    local i, count = self.event_at, self.event_count
    while i < count do
        local event = events[i]
        i = i + 1
        self.event_at = i -- where to go on after an error of the script
        if event.id == CONTROL then
            self.on_control(tonumber(event.mask))
        else
            local conn = conns[tonumber(event.id)]
            if conn.made == event.made then
                on_event(self, conn, tonumber(event.mask))
            end
        end
    end
    self.event_count = 0
end


--- Turns until `self.until_turn` says that it is enough: called with the time, once a turn.
function _M.run(self)
    local timer_heap = self.timers
    local epoll, events = self.epoll, self.events
    if self.event_count > 0 then -- a hook threw in the midst of them
        handle_events(self)
    end
    if self.beginning then
        self.begin_all(self, now())
    end
    local back = now() -- when it last began to work
    while true do
        local t = now()
        self.turns[0] = self.turns[0] + 1
        if self.woke > 0 then
            self.lag:record(t - self.woke)
        end
        local side = self.side
        if t >= self.deadline and self.on_deadline(self, t) then
            return
        end
        if t >= self.next_scan then
            scan(self, t)
        end
        if timer_heap.count > 0 then
            local conn, at = timer_heap:pop(t)
            while conn do
                if conn.wake == at then
                    on_wake(self, conn, t)
                end
                conn, at = timer_heap:pop(t)
            end
        end
        local due = huge
        if side.pace then
            dispatch(self, side, t)
            if side.sending and side.free_first <= side.free_last then
                due = self.origin + side.pace.due
                if due >= side.until_ns then
                    due = huge
                end
            end
        end
        if not side.sending and side.flying == 0 or side.pace and self.draining and side.flying == 0
            and self.origin + side.pace.due >= side.until_ns then
            if self.on_idle(self, t) then
                return
            end
        end

        local target = math.min(self.deadline, self.next_scan, timer_heap:first())
        local early = due - self.margin
        local for_due = early < target
        if for_due then
            target = early
        end
        local asked = now()
        if asked - back > STILL then
            note(self, asked - back)
            self.lag:record(asked - t) -- what events took before t is in it already
        end
        local span = math.min(target - asked, NAP)
        local count = 0
        if span > 0 and side.pace and side.flying > 0 and asked >= self.sleepy
            and asked < self.active + AWAKE then
            count = spin(self, asked, math.min(target, self.active + AWAKE))
            asked = now()
            span = math.min(target - asked, NAP)
        end
        if count == 0 then
            count = wait(epoll, events, MOST_EVENTS, span > 0 and span or 0)
        end
        back = now()
        local late = back - asked - (span > 0 and span or 0)
        if late > STILL then
            self.lag:record(late)
            note(self, late)
        end
        if count > 0 then
            self.woke, self.active = back, back
            self.event_at, self.event_count = 0, count
            handle_events(self)
        else
            self.woke = 0
            if span > 0 and count == 0 then
                local margin = self.margin * 0.95 + late * 0.06
                self.margin = margin < MOST_MARGIN and margin or MOST_MARGIN
            end
        end
    end
end


return _M

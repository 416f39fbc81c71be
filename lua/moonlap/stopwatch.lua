--- Times spans that start in one place and end in another: across coroutines, light threads and
-- the phases of an nginx request.
--
--     local stopwatch = require("moonlap.stopwatch").new()
--     ngx.ctx.span = stopwatch:start()      -- access phase
--     stopwatch:stop(ngx.ctx.span)          -- log phase
--     stopwatch.histogram:percentile(99)
--
-- Memory is constant: a @{moonlap.histogram} and a ring of open spans. `start` and `stop`
-- allocate nothing in compiled code. A span that nobody stops (its request was aborted) is
-- abandoned when the ring comes round to its place. `ngx.ctx` is lost on `ngx.exec`; see
-- @{moonlap.ctx}.
--
-- @module moonlap.stopwatch

local ffi = require "ffi"
local clock = require "moonlap.clock"
local histogram = require "moonlap.histogram"

local max, min = math.max, math.min

local _M = {}
local methods = {}
local metatable = { __index = methods }

local MAX_OPEN = 2 ^ 20 -- 16 MiB
local CALIBRATION_BLOCKS, CALIBRATION_SPANS = 30, 100

-- Opening a clock takes some ms, so that it is done once and late.
local shared_now

local function now()
    if not shared_now then
        shared_now = clock.open("monotonic").now
    end
    return shared_now
end

--- The lowest mean of many short blocks of spans around nothing, in ns.
local function calibrate(self)
    local lowest = math.huge
    for _ = 1, CALIBRATION_BLOCKS do
        local sum = 0
        for _ = 1, CALIBRATION_SPANS do
            sum = sum + self:stop(self:start())
        end
        lowest = min(lowest, sum / CALIBRATION_SPANS)
    end
    return lowest
end

--- Makes a stopwatch.
-- @tparam[opt] table opts `open`: room for so many open spans at once (4096), 1 to 1048576;
--   `histogram`: options of `moonlap.histogram.new`; `now`: another clock, a function that
--   returns ns
-- @treturn stopwatch with the fields `histogram` and `overhead_ns`, which is taken off each span
function _M.new(opts)
    opts = opts or {}
    local room = opts.open or 4096
    if type(room) ~= "number" or not (room >= 1 and room <= MAX_OPEN)
        or room ~= math.floor(room) then
        error("moonlap.stopwatch: open must be a whole number from 1 to " .. MAX_OPEN, 2)
    end
    local self = setmetatable({
        histogram = histogram.new(opts.histogram),
        overhead_ns = 0,
        now = opts.now or now(),
        room = room,
        last = 0, -- number of the newest span
        -- The number of the span that is open in a place of the ring, or 0; and its start.
        numbers = ffi.new("double[?]", room),
        starts = ffi.new("double[?]", room),
        lost = 0,
    }, metatable)
    self.overhead_ns = calibrate(self)
    self:reset()
    return self
end

--- Opens a span.
-- @treturn number id for `stop`
function methods.start(self)
    local number = self.last + 1
    self.last = number
    local place = number % self.room
    if self.numbers[place] ~= 0 then
        self.lost = self.lost + 1
    end
    self.numbers[place] = number
    self.starts[place] = self.now()
    return number
end

--- Closes a span and records it.
-- @tparam number id
-- @treturn number the span in ns, overhead taken off, at least 0; or nil and an error when the
--   id is not of an open span: unknown, stopped before, or abandoned
function methods.stop(self, id)
    local finish = self.now()
    if type(id) ~= "number" or id ~= id or id < 1 or id > self.last then
        return nil, "no start returned this id"
    end
    local place = id % self.room
    if self.numbers[place] ~= id then
        return nil, "the span is not open: stopped before, or abandoned"
    end
    self.numbers[place] = 0
    local span = max(0, finish - self.starts[place] - self.overhead_ns)
    self.histogram:record(span)
    return span
end

--- Number of spans that are started and not stopped.
function methods.open(self)
    local open = 0
    for place = 0, self.room - 1 do
        open = open + (self.numbers[place] ~= 0 and 1 or 0)
    end
    return open
end

--- Number of spans that were abandoned.
function methods.abandoned(self)
    return self.lost
end

--- Forgets all spans, open ones too; ids given out before stay unknown.
function methods.reset(self)
    self.histogram:reset()
    ffi.fill(self.numbers, self.room * 8)
    self.lost = 0
end

return _M

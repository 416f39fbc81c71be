--- A bounded store of consecutive batches, and the one place that times them.
-- @module moonlap.bench.series
local ffi = require "ffi"
local json = require "moonlap.json"
local KINDS = require("moonlap.bench.yardstick").KINDS

jit.off(true, true)

local _M = {}
local mt = {__index = _M}

local floor = math.floor
local setmetatable = setmetatable

-- What one kind of batches may hold before it is written out as a line.
local CAPACITY = 1000


-- Times of the yardsticks, by kind: one before each batch, which is also the one after the batch
-- before it, and one after the last.
local function new_looks()
    local looks = {}
    for _, kind in ipairs(KINDS) do
        looks[kind] = ffi.new("double[?]", CAPACITY + 1)
    end
    return looks
end


--- A store of batches.
-- @tparam table watch what to look at around each batch: `clock`, `ledger`, `pollution`,
-- `channel`, `start` (ns); where there are such, the `counter` of measured batches and `yardsticks`
-- @treturn table
function _M.new(watch)
    return setmetatable({
        watch = watch, size = 0, at = 0, unlooked = 0,
        calls = ffi.new("int32_t[?]", CAPACITY),
        ns = ffi.new("double[?]", CAPACITY),
        traces = ffi.new("int32_t[?]", CAPACITY),
        switches = ffi.new("int32_t[?]", CAPACITY),
        steal = ffi.new("int32_t[?]", CAPACITY),
        looks = watch.yardsticks and new_looks(),
    }, mt)
end


--- Times one batch of n calls.
-- @tparam string kind of batch, as in the record
-- @tparam number series its number
-- @tparam function loop a loop from `moonlap.bench.loop`
-- @tparam number n calls
-- @treturn number ns the batch took
-- @treturn boolean clean: no trace event, no involuntary switch inside
function _M:time(kind, series, loop, n)
    if self.size > 0 and (kind ~= self.kind or series ~= self.series) or self.size == CAPACITY then
        self:write()
    end
    local watch = self.watch
    if self.size == 0 then
        self.kind, self.series = kind, series
        if self.looks then
            watch.yardsticks:time(self.looks, 0)
        end
        self.at = watch.clock.now() - watch.start
        self.unlooked = 0
    end

    local events, switches = watch.ledger.events, watch.pollution:switches()
    local counter = kind == "measure" and watch.counter
    if counter then
        counter:start()
    end
    local now = watch.clock.now
    local start = now()
    loop(n)
    local ns = now() - start
    if counter then
        counter:stop(n)
    end
    events = watch.ledger.events - events
    switches = watch.pollution:switches() - switches

    local i = self.size
    self.calls[i], self.ns[i] = n, ns
    self.traces[i], self.switches[i], self.steal[i] = events, switches, 0
    self.size = i + 1
    if self.looks then
        watch.yardsticks:time(self.looks, i + 1)
    end
    self:look_for_steal()
    return ns, events == 0 and switches == 0
end


-- The kernel counts steal in steps of 10 ms: all batches since the last look are marked.
function _M:look_for_steal()
    local looked, stolen = self.watch.pollution:stolen(self.watch.clock.now())
    if not looked then
        return
    end
    if stolen then
        for i = self.unlooked, self.size - 1 do
            self.steal[i] = 1
        end
    end
    self.unlooked = self.size
end


local function to_list(values, size, step)
    local list, any = json.array {}, false
    for i = 0, size - 1 do
        local v = values[i]
        list[i + 1] = step and floor(v / step + 0.5) * step or v
        any = any or v ~= 0
    end
    return list, any
end


local function nonzero(values, size)
    local list, any = to_list(values, size)
    return any and list or nil
end


local function yardsticks(self)
    local lists = {}
    for kind, values in pairs(self.looks) do
        lists[kind] = to_list(values, self.size + 1, 1)
    end
    return lists
end


--- Writes what is stored as a `batches` line, and is empty again.
function _M:write()
    if self.size == 0 then
        return
    end
    self.watch.channel:write {
        type = "batches",
        kind = self.kind,
        series = self.series,
        at_ns = floor(self.at),
        calls = (to_list(self.calls, self.size)),
        ns = (to_list(self.ns, self.size, 0.1)),
        traces = nonzero(self.traces, self.size),
        switches = nonzero(self.switches, self.size),
        steal = nonzero(self.steal, self.size),
        yardsticks = self.looks and yardsticks(self),
    }
    self.size, self.unlooked = 0, 0
end


return _M

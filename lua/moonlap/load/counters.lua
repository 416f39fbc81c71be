--- What is counted of one side in one slice, and what is made of it.
-- @module moonlap.load.counters
local lines = require "moonlap.load.lines"

local _M = {}

local floor = math.floor

local TRIM = 0.99       -- the share of latencies whose mean is the expected interval
local LEAST_EXPECTED = 1000 -- ns


--- Empty counters of a side.
function _M.new()
    local counters = {
        raw = lines.histogram(), latency = lines.histogram(),
        all = lines.histogram(), -- raw, of the whole run
        corrected = lines.histogram(), -- latency, of the whole run
        total = { requests = 0, bytes = 0, status = 0, errors = {}, rates = {} },
        texts = {}, tags = {}, has_tags = false,
    }
    _M.reset(counters)
    return counters
end


--- Ready for the next slice.
function _M.reset(counters)
    counters.requests, counters.responses, counters.bytes = 0, 0, 0
    counters.offered, counters.unsent, counters.late = 0, 0, 0
    counters.connects, counters.connect_ns, counters.resumed = 0, 0, 0
    counters.status, counters.sum = 0, 0
    counters.delay_ns, counters.delays = 0, 0
    counters.errors, counters.has_errors = {}, false
    counters.raw:reset()
    counters.latency:reset()
    for _, tag in pairs(counters.tags) do
        tag.count, tag.errors = 0, 0
        tag.latency:reset()
    end
end


--- Counts an error, and keeps its words.
-- @tparam[opt=1] int count how many requests it is an error of
function _M.error(counters, kind, text, count)
    count = count or 1
    counters.has_errors = true
    counters.errors[kind] = (counters.errors[kind] or 0) + count
    local key = kind .. "\0" .. (text or "")
    counters.texts[key] = (counters.texts[key] or 0) + count
end


--- Counts an answer that is an error by another word than its status.
function _M.status(counters, text)
    counters.status = counters.status + 1
    local key = "status\0" .. text
    counters.texts[key] = (counters.texts[key] or 0) + 1
end


--- The counters of a tag: requests that the script named.
function _M.tag(counters, name)
    local tag = counters.tags[name]
    if not tag then
        tag = { count = 0, errors = 0, latency = lines.histogram() }
        counters.tags[name] = tag
        counters.has_tags = true
    end
    return tag
end


-- Lowest value and width of a bucket, in ns.
local function middle(h, index)
    local size = 2 ^ h.half
    local exponent, position = floor(index / size) - 1, index % size + size
    if exponent < 0 then
        exponent, position = 0, position - size
    end
    return (position + 0.5) * 2 ^ (exponent + h.unit)
end


-- The bucket of a value, and one more where rounding may have put it.
local function bucket_of(h, ns)
    local units = floor((ns + 0.5) * 2 ^ -h.unit)
    local shift = 0
    while units >= 2 ^ (h.half + 1) do
        units, shift = floor(units / 2), shift + 1
    end
    return math.min(h.len - 1, shift * 2 ^ h.half + units + 1)
end


-- The buckets between which all values are: most of the others are never looked at.
local function range(h)
    if h:count() == 0 then
        return 0, -1
    end
    return math.max(0, bucket_of(h, h:min()) - 2), bucket_of(h, h:max())
end


-- Adds the values of a histogram to another.
local function add(to, from)
    local first, last = range(from)
    for i = first, last do
        to.counts[i] = to.counts[i] + from.counts[i]
    end
    to.sum, to.total = to.sum + from.sum, to.total + from.total
    to.smallest = math.min(to.smallest, from.smallest)
    to.largest = math.max(to.largest, from.largest)
end


--- The mean of the fastest 99 %: what a request takes when nothing stalls.
function _M.expected(h)
    local wanted = h:count() * TRIM
    local seen, sum = 0, 0
    local first, last = range(h)
    for i = first, last do
        local count = tonumber(h.counts[i])
        if count > 0 then
            if seen + count >= wanted then
                count = math.max(wanted - seen, seen == 0 and 1 or 0)
                return math.max(LEAST_EXPECTED, (sum + count * middle(h, i)) / (seen + count))
            end
            seen, sum = seen + count, sum + count * middle(h, i)
        end
    end
    return LEAST_EXPECTED
end


--- Fills `to` with what is in `from`, and with the requests that would have been sent meanwhile,
-- one every `expected` ns, by connections that waited longer than that.
function _M.correct(from, to, expected)
    add(to, from)
    local first, last = range(from)
    for i = first, last do
        local count = tonumber(from.counts[i])
        if count > 0 then
            local missing = middle(from, i) - expected
            while missing >= expected do
                to:record_many(missing, count)
                missing = missing - expected
            end
        end
    end
end


local function errors_of(counters)
    local errors = counters.errors
    if counters.status > 0 then
        errors.status = counters.status
    end
    return next(errors) and errors or nil
end


local function tags_of(counters)
    if not counters.has_tags then
        return nil
    end
    local list = {}
    for name, tag in pairs(counters.tags) do
        if tag.count + tag.errors > 0 then
            list[#list + 1] = {
                name = name, count = tag.count, errors = tag.errors, latency = tag.latency:encode(),
            }
        end
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list[1] and list or nil
end


-- Adds the slice to the totals that done() gets.
local function add_up(counters, ns)
    local t = counters.total
    t.requests, t.bytes = t.requests + counters.responses, t.bytes + counters.bytes
    t.status = t.status + counters.status
    for kind, count in pairs(counters.errors) do
        t.errors[kind] = (t.errors[kind] or 0) + count
    end
    add(counters.corrected, counters.latency)
    if ns > 0 then
        t.rates[#t.rates + 1] = math.floor(counters.responses / ns * 1e9)
    end
end


--- What done() gets: plain values.
function _M.totals(counters)
    local t = counters.total
    return {
        requests = t.requests, bytes = t.bytes, status = t.status, errors = t.errors,
        latency = counters.corrected:encode(), rates = t.rates,
    }
end


--- The slice's line, and ready for the next one.
-- @tparam table counters
-- @tparam boolean open whether the loop is open: `latency` has been recorded then
-- @tparam table line what else stands in it
function _M.line(counters, open, line)
    add(counters.all, counters.raw)
    if not open then
        local delay = counters.delays > 0 and counters.delay_ns / counters.delays or 0
        line.expected_ns = _M.expected(counters.all) + delay
        counters.expected = line.expected_ns
        _M.correct(counters.raw, counters.latency, line.expected_ns)
    else
        line.offered, line.unsent, line.late = counters.offered, counters.unsent, counters.late
    end
    if not line.warmup then
        add_up(counters, line.ns)
    end
    line.type = "load_slice"
    line.requests, line.responses, line.bytes = counters.requests, counters.responses,
        counters.bytes
    line.errors = errors_of(counters)
    line.sum_latency_ns = counters.sum
    line.connects, line.connect_ns = counters.connects, counters.connect_ns
    line.resumed = counters.resumed
    line.raw, line.latency = counters.raw:encode(), counters.latency:encode()
    line.tags = tags_of(counters)
    _M.reset(counters)
    return line
end


--- The ten most frequent errors of the run, as lines.
function _M.error_lines(counters, thread, side)
    local list = {}
    for key, count in pairs(counters.texts) do
        local kind, text = key:match "^(.-)%z(.*)$"
        list[#list + 1] = {
            type = "load_error", thread = thread, side = side, kind = kind, text = text,
                count = count,
        }
    end
    table.sort(list, function(a, b) return a.count > b.count end)
    for i = #list, 11, -1 do
        list[i] = nil
    end
    return list
end


return _M

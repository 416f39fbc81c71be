--- What wrk gives to done(): a summary, and statistics of latencies and rates.
-- @module moonlap.load.results
local histogram = require "moonlap.histogram"
local lines = require "moonlap.load.lines"

local _M = {}

local floor, max, sqrt = math.floor, math.max, math.sqrt


-- Statistics as wrk's: a userdata, because `#` of a table asks no metatable in LuaJIT.
-- @tparam table values distinct values, ascending
-- @tparam table counts how often each of them
local function new_stats(values, counts)
    local total, sum = 0, 0
    for i, v in ipairs(values) do
        total, sum = total + counts[i], sum + v * counts[i]
    end
    local mean = total > 0 and sum / total or 0
    local squares = 0
    for i, v in ipairs(values) do
        squares = squares + (v - mean) ^ 2 * counts[i]
    end
    local fields = {
        min = values[1] or 0, max = values[#values] or 0, mean = mean,
        stdev = total > 1 and sqrt(squares / (total - 1)) or 0,
    }
    function fields.percentile(_, p)
        local rank = floor(p / 100 * total + 0.5 + 0.5)
        local seen = 0
        for i, v in ipairs(values) do
            seen = seen + counts[i]
            if seen >= rank then
                return v
            end
        end
        return fields.max
    end

    local stats = newproxy(true)
    local mt = getmetatable(stats)
    function mt.__index(_, key)
        if type(key) == "number" then
            return values[key] or 0
        end
        local field = fields[key]
        return field == nil and key or field -- wrk returns an unknown name itself
    end
    function mt.__len()
        return #values
    end
    function mt.__call(_, i)
        return values[i] or 0, counts[i] or 0
    end
    return stats
end


local function of_list(list)
    table.sort(list)
    local values, counts = {}, {}
    for _, v in ipairs(list) do
        if values[#values] == v then
            counts[#counts] = counts[#counts] + 1
        else
            values[#values + 1], counts[#counts + 1] = v, 1
        end
    end
    return new_stats(values, counts)
end


-- In whole microseconds.
local function of_histogram(h)
    local values, counts = {}, {}
    for low, high, count in h:buckets() do
        local us = max(0, floor((low + high) / 2000 + 0.5))
        if values[#values] == us then
            counts[#counts] = counts[#counts] + count
        else
            values[#values + 1], counts[#counts + 1] = us, count
        end
    end
    return new_stats(values, counts)
end


--- The three arguments of done().
-- @tparam table totals a list of what @{moonlap.load.counters.totals} made, one a thread
-- @tparam number elapsed_ns
-- @treturn table summary
-- @return latency
-- @return requests
function _M.of(totals, elapsed_ns)
    local errors = { connect = 0, read = 0, write = 0, status = 0, timeout = 0 }
    local summary = { duration = floor(elapsed_ns / 1000), requests = 0, bytes = 0,
        errors = errors }
    local latency, rates = lines.histogram(), {}
    -- wrk's names for what it has no name for.
    local names = { refused = "connect", tls = "connect", reset = "read", protocol = "read" }
    for _, one in ipairs(totals) do
        summary.requests = summary.requests + one.requests
        summary.bytes = summary.bytes + one.bytes
        for kind, count in pairs(one.errors) do
            local name = names[kind] or kind
            errors[name] = (errors[name] or 0) + count
        end
        errors.status = errors.status + (one.errors.status and 0 or one.status)
        local h = histogram.decode(one.latency)
        if h then
            latency:merge(h)
        end
        for _, rate in ipairs(one.rates) do
            rates[#rates + 1] = rate
        end
    end
    return summary, of_histogram(latency), of_list(rates)
end


return _M

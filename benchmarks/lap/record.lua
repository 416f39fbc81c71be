-- What one histogram:record costs inside a compiled trace and what it allocates, beside two ways
-- to count in plain Lua tables: a loop with the call less the same loop without. In each process
-- loops take turns in random order, ratios are of one round, and medians over the rounds count.
-- Figures are medians over fresh processes, because LuaJIT picks other traces in each, with a 95 %
-- interval of order statistics.
-- Run from the root of the repository: luajit benchmarks/lap/record.lua
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local bit = require "bit"
local ffi = require "ffi"
local clock = require("moonlap.clock").open("monotonic")
local histogram = require "moonlap.histogram"

local PROCESSES, ROUNDS, CALLS, VALUES = 24, 50, 50000, 4096

local function values(f)
    local list = ffi.new("double[?]", VALUES)
    for i = 0, VALUES - 1 do
        list[i] = f()
    end
    return list
end

math.randomseed(tonumber(arg[1]) or 1)
local kinds = {
    { "one value", values(function() return 57 end) },
    { "20…80 ns", values(function() return math.random(20, 80) end) },
    { "500…3000 ns", values(function() return math.random(500, 3000) end) },
    { "1 ns…1 min, log-uniform", values(function() return math.exp(math.random() * 24.8) end) },
}

-- Upper bounds as moonlap.prometheus has them, in ns, and a counter with a name for each.
local bounds, names, counters = {}, {}, { sum = 0, count = 0, inf = 0 }
for exponent = 3, 9 do
    for _, digit in ipairs { 1, 2.5, 5 } do
        bounds[#bounds + 1] = digit * 10 ^ exponent
        names[#names + 1] = ('seconds_bucket{le="%g"}'):format(bounds[#bounds] / 1e9)
        counters[names[#names]] = 0
    end
end

local LOOP = [[
    local values, now, band, floor, h, exact, bounds, names, counters = ...
    return function(n)
        local start, sum = now(), 0
        for i = 1, n do
            local v = values[band(i, 4095)]
            %s
        end
        return (now() - start) / n, sum
    end
]]

local ways = {
    { "empty", "sum = sum + v" },
    { "h:record", "h:record(v)" },
    -- A count for each whole ns: the least that a table can do, and without a bound on memory.
    { "a table's count", "local k = floor(v); exact[k] = (exact[k] or 0) + 1" },
    -- As lua-resty exporters count in a worker: sum, count, all buckets from the value on.
    { "named buckets", [[
        local b = #bounds
        while b > 0 and v <= bounds[b] do
            counters[names[b] ] = counters[names[b] ] + 1
            b = b - 1
        end
        counters.sum = counters.sum + v
        counters.count = counters.count + 1
        counters.inf = counters.inf + 1
    ]] },
}

local function shuffled(n)
    local order = {}
    for i = 1, n do
        local k = math.random(i)
        order[i] = order[k]
        order[k] = i
    end
    return order
end

-- Ranks n/2 ± 1.96·√n/2: the normal approximation of the binomial.
local function median(list)
    table.sort(list)
    local n = #list
    local margin = 1.96 * math.sqrt(n) / 2
    return (list[math.floor((n + 1) / 2)] + list[math.ceil((n + 1) / 2)]) / 2,
        list[math.max(1, math.floor(n / 2 - margin) + 1)],
        list[math.min(n, math.ceil(n / 2 + margin))]
end

local function measure(list)
    local loops, times, bytes, exact = {}, {}, {}, {}
    for w, way in ipairs(ways) do
        loops[w] = assert(load(LOOP:format(way[2])))(list, clock.now, bit.band, math.floor,
            histogram.new(), exact, bounds, names, counters)
        times[w], bytes[w] = {}, 0
        loops[w](CALLS)
        loops[w](CALLS)
    end
    collectgarbage()
    collectgarbage "stop"
    for round = 1, ROUNDS do
        for _, w in ipairs(shuffled(#ways)) do
            local before = collectgarbage "count"
            times[w][round] = loops[w](CALLS)
            bytes[w] = bytes[w] + (collectgarbage "count" - before) * 1024
        end
    end
    collectgarbage "restart"
    return times, bytes
end

-- One process: for each kind and way a line of cost, ratio and bytes, the empty loop's taken off.
local function process()
    for k, kind in ipairs(kinds) do
        local times, bytes = measure(kind[2])
        for w = 2, #ways do
            local cost, ratio = {}, {}
            for round = 1, ROUNDS do
                cost[round] = times[w][round] - times[1][round]
                ratio[round] = (times[2][round] - times[1][round]) / cost[round]
            end
            print(k, w, (median(cost)), (median(ratio)),
                math.max(0, bytes[w] - bytes[1]) / ROUNDS / CALLS)
        end
    end
end

local function all()
    local found = {}
    for k = 1, #kinds do
        found[k] = {}
        for w = 2, #ways do
            found[k][w] = { {}, {}, {} }
        end
    end
    for number = 1, PROCESSES do
        local pipe = assert(io.popen(("%s %s %d"):format(arg[-1], arg[0], number)))
        local lines = 0
        for line in pipe:lines() do
            local k, w, cost, ratio, bytes = line:match "^(%S+)\t(%S+)\t(%S+)\t(%S+)\t(%S+)$"
            for i, figure in ipairs { cost, ratio, bytes } do
                table.insert(found[tonumber(k)][tonumber(w)][i], tonumber(figure))
            end
            lines = lines + 1
        end
        pipe:close()
        assert(lines == #kinds * (#ways - 1), "a process did not finish")
    end
    print(("%s, %s, %d processes"):format(jit.version, os.date "!%Y-%m-%d", PROCESSES))
    print(("%-24s %-16s %-22s %-8s %-8s %s"):format("values", "way", "ns a value [95 %]", "worst",
        "bytes", "h:record to it [95 %]"))
    for k, kind in ipairs(kinds) do
        for w = 2, #ways do
            local costs, ratios, bytes = unpack(found[k][w])
            local wide = #kind[1] - select(2, kind[1]:gsub("…", "")) * 2
            print(("%s %-16s %-22s %-8.1f %-8.3f %s"):format(
                w == 2 and kind[1] .. (" "):rep(24 - wide) or (" "):rep(24), ways[w][1],
                ("%.2f [%.2f, %.2f]"):format(median(costs)), math.max(unpack(costs)),
                math.max(unpack(bytes)),
                w == 2 and "" or ("%.2f [%.2f, %.2f]"):format(median(ratios))))
        end
    end
end

if arg[1] then
    process()
else
    all()
end

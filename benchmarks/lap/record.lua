-- What one histogram:record costs inside a compiled trace, and what it allocates: the loop with
-- it less the same loop without, lowest of 200 blocks each, taking turns.
-- Run from the root of the repository: luajit benchmarks/lap/record.lua
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local bit = require "bit"
local ffi = require "ffi"
local clock = require("moonlap.clock").open("monotonic")
local histogram = require "moonlap.histogram"

local BLOCKS, CALLS, VALUES = 200, 50000, 4096

local function values(f)
    local list = ffi.new("double[?]", VALUES)
    for i = 0, VALUES - 1 do
        list[i] = f()
    end
    return list
end

-- A loop of its own for each kind, lest they share a trace.
local LOOPS = [[
    local values, now, band, h = ...
    local function full(n)
        local start = now()
        for i = 1, n do
            h:record(values[band(i, 4095)])
        end
        return (now() - start) / n
    end
    local function empty(n)
        local start, sum = now(), 0
        for i = 1, n do
            sum = sum + values[band(i, 4095)]
        end
        return (now() - start) / n, sum
    end
    return full, empty
]]

math.randomseed(1)
local kinds = {
    { "one value", values(function() return 57 end) },
    { "20…80 ns", values(function() return math.random(20, 80) end) },
    { "500…3000 ns", values(function() return math.random(500, 3000) end) },
    { "1 ns…1 min, log-uniform", values(function() return math.exp(math.random() * 24.8) end) },
}

print(("%s, %s"):format(jit.version, jit.status() and "JIT on" or "JIT off"))
for _, kind in ipairs(kinds) do
    local h = histogram.new()
    local full, empty = load(LOOPS)(kind[2], clock.now, bit.band, h)
    local with, without = math.huge, math.huge
    full(CALLS)
    empty(CALLS)
    collectgarbage()
    collectgarbage "stop"
    local before = collectgarbage "count"
    for _ = 1, BLOCKS do
        with = math.min(with, full(CALLS))
        without = math.min(without, (empty(CALLS)))
    end
    local bytes = (collectgarbage "count" - before) * 1024 / (BLOCKS * CALLS)
    collectgarbage "restart"
    print(("%-26s %.2f ns a record (%.2f - %.2f), %.3f bytes"):format(kind[1], with - without, with,
        without, bytes))
end

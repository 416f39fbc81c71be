local child = require "spec.support.child"
local clock = require "moonlap.clock"
local yardstick = require "moonlap.bench.yardstick"

-- Medians over 200 times, traces that were made and KiB that were allocated meanwhile.
local MEASURE = [[
jit.off(true) -- this loop, as the harness's
local ffi = require "ffi"
local clock = require("moonlap.clock").open()
local ledger = require("moonlap.bench.ledger").open()
local yardstick = require "moonlap.bench.yardstick"
local yardsticks, why = yardstick.open(clock)
if not yardsticks then
    return answer {why = why}
end
local into, median = {}, {}
for _, kind in ipairs(yardstick.KINDS) do
    into[kind] = ffi.new("double[200]")
end
local before = collectgarbage("count")
for i = 0, 199 do yardsticks:time(into, i) end
local grown = collectgarbage("count") - before
for kind, times in pairs(into) do
    local list = {}
    for i = 0, 199 do list[i + 1] = times[i] end
    table.sort(list)
    median[kind] = list[100]
end
answer {median = median, events = ledger.events, grown = grown}
]]

-- The least of many times, alone and each after 8 MB were read, which leave no line of a cache.
local EVICTED = [[
jit.off(true)
local ffi = require "ffi"
local yardstick = require "moonlap.bench.yardstick"
local yardsticks, why = yardstick.open(require("moonlap.clock").open())
if not yardsticks then
    return answer {why = why}
end
local lines = ffi.new("uint8_t[?]", 2 ^ 23)
local function evict()
    return ffi.string(lines, 2 ^ 23):byte(-1)
end
local function least(before)
    local into, best = {core = {}, cache = {}, memory = {}}, {}
    for _ = 1, 300 do
        before()
        yardsticks:time(into, 1)
        for kind, times in pairs(into) do
            best[kind] = math.min(best[kind] or 1 / 0, times[1])
        end
    end
    return best
end
answer {alone = least(function() end), evicted = least(evict)}
]]

describe("a yardstick", function()
    it("is missing where the clock is not the counter, and says why", function()
        local none, why = yardstick.open(clock.open("monotonic"))
        assert.is_nil(none)
        assert.equal("the clock is not the time-stamp counter", why)
    end)

    it("takes 0.5 to 10 µs, makes no trace and allocates nothing, also with the JIT off", function()
        local on = child.answer(MEASURE)
        if on.why then
            return pending(on.why)
        end
        local off = child.answer(MEASURE, { jit = false })
        for kind, ns in pairs(on.median) do
            assert.is_true(ns > 500 and ns < 10000, ("%s: %.0f ns"):format(kind, ns))
        end
        assert.same({ 0, 0 }, { on.events, off.events })
        assert.same({ 0, 0 }, { on.grown, off.grown })
        -- Ten loads that no cache serves, whatever was read before: those take 2 to 15 ns.
        assert.is_true(on.median.memory > 10 * 30, on.median.memory)
        -- A busy neighbour makes 1.6 between the two processes; an interpreted loop would make 30.
        local ratio = off.median.core / on.median.core
        assert.is_true(ratio > 1 / 4 and ratio < 4, ratio)
    end)

    it("takes at most 3 % of the time: batches are as long as that asks for", function()
        local measure = require "moonlap.bench.measure"
        local fine, job = { step_ns = 1 }, { measure_ns = 6e7 }
        assert.equal(2e5, measure.batch_target(fine, job))
        for _, look in ipairs { 0, 1e3, 5.8e3, 6.2e3, 1e4, 1e6 } do
            local batch = measure.batch_target(fine, job, { cost_ns = look })
            assert.is_true(look / (look + batch) <= 0.03 + 1e-12, look)
            assert.is_true(batch >= 2e5)
        end
    end)

    it("knows what a look takes: the least of many", function()
        local at, takes = 0, { 50, 7, 9 }
        local fake = setmetatable({ time = function()
            at = at + (table.remove(takes) or 8)
        end }, { __index = yardstick })
        assert.equal(7, fake:cheapest(function() return at end))
    end)

    it("is not slowed by what a case left in the caches", function()
        local got = child.answer(EVICTED)
        if got.why then
            return pending(got.why)
        end
        for _, kind in ipairs { "core", "cache" } do
            local ratio = got.evicted[kind] / got.alone[kind]
            assert.is_true(ratio < 1.03, ("%s: %.3f times as long"):format(kind, ratio))
        end
    end)
end)

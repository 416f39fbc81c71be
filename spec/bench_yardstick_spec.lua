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
end)

local warmup = require "moonlap.bench.warmup"

local TARGET = 2e5 -- ns a batch
local LIMIT = 1e9

-- A series without a VM: time is what `cost(batch, n)` says, in ns for n calls. What cost
-- returns second is whether the batch was clean, third how many trace events it saw.
local function new_series(cost)
    local self = { at = 0, batches = 0, sizes = {} }
    self.watch = {
        clock = { now = function() return self.at end },
        ledger = { events = 0 },
    }
    function self.time(_, kind, _, loop, n)
        self.kind, self.loop = kind, loop
        self.batches = self.batches + 1
        self.sizes[self.batches] = n
        local ns, clean, events = cost(self.batches, n)
        self.at = self.at + ns
        self.watch.ledger.events = self.watch.ledger.events + (events or 0)
        return ns, clean ~= false and not events
    end
    return self
end

local function run(cost, target, limit)
    local series = new_series(cost)
    local n, ns_per_call, steady = warmup.run(series, "warmup", print, target or TARGET,
        limit or LIMIT)
    return series, n, ns_per_call, steady
end

local function flat(ns_per_call)
    return function(_, n) return n * ns_per_call end
end

describe("warm-up", function()
    it("ends early when the level is steady", function()
        local series, _, ns_per_call, steady = run(flat(10))
        assert.is_true(steady)
        assert.is_true(series.at < LIMIT / 10, series.at)
        assert.equal(10, ns_per_call)
    end)

    it("lasts at least 20 ms: rare branches need many calls", function()
        local series = run(flat(10))
        assert.is_true(series.at >= 2e7, series.at)
    end)

    it("times the loop as the kind it was asked for", function()
        local series = run(flat(10))
        assert.equal("warmup", series.kind)
        assert.equal(print, series.loop)
    end)

    for _, cost in ipairs { 0.3, 1, 10, 333, 5e4 } do
        it("finds how many calls fill a batch: " .. cost .. " ns a call", function()
            local _, n = run(flat(cost))
            assert.is_true(n * cost >= 0.8 * TARGET, n)
            assert.is_true(n * cost <= 1.6 * TARGET, n)
            assert.equal(n, math.floor(n))
        end)
    end

    it("makes batches of one call when that takes long enough", function()
        local series, n, ns_per_call = run(flat(5e6))
        assert.equal(1, n)
        assert.equal(5e6, ns_per_call)
        for _, size in ipairs(series.sizes) do
            assert.equal(1, size)
        end
    end)

    it("grows batches tenfold at most: the first calls may be fast", function()
        local series = run(flat(0.01))
        for i = 2, #series.sizes do
            assert.is_true(series.sizes[i] <= 10 * series.sizes[i - 1])
        end
    end)

    it("never makes batches longer than an int32 can count", function()
        local _, n = run(function(_, n) return n > 1e9 and 1e6 or 0 end, 1e12, 1e8)
        assert.is_true(n <= 2 ^ 30, n)
    end)

    it("ends at the limit when the level never stays", function()
        local series, _, _, steady = run(function(i, n) return n * 10 * 1.01 ^ i end)
        assert.is_false(steady)
        assert.is_true(series.at >= LIMIT, series.at)
    end)

    it("goes on after a change of level, until the new one is steady", function()
        local flat_until = run(flat(10)).batches
        local change = flat_until - 8 -- most of the newer window
        local series, _, ns_per_call, steady = run(function(i, n)
            return n * (i < change and 10 or 5)
        end)
        assert.is_true(steady)
        assert.equal(5, ns_per_call)
        assert.is_true(series.batches > flat_until, series.batches)
    end)

    it("goes on while the JIT works", function()
        local last_event = 400
        local series, _, _, steady = run(function(i, n)
            return n * 10, true, i <= last_event and i % 10 == 0 and 1 or nil
        end)
        assert.is_true(steady)
        assert.is_true(series.batches >= last_event + 20, series.batches)
        assert.is_true(series.at < LIMIT, series.at)
    end)

    it("ends at the limit when the JIT never rests", function()
        local _, _, _, steady = run(function(i, n)
            return n * 10, true, i % 10 == 0 and 1 or nil
        end)
        assert.is_false(steady)
    end)

    it("keeps the batches' length when one was interrupted", function()
        local series, n = run(function(i, n)
            if i % 7 == 0 then
                return n * 10 + 1e7, false
            end
            return n * 10
        end)
        assert.is_true(n * 10 >= 0.8 * TARGET, n)
        for i = 20, #series.sizes do
            assert.is_true(series.sizes[i] * 10 >= 0.8 * TARGET, i .. ": " .. series.sizes[i])
        end
    end)

    it("takes the level from the middle, not from what was interrupted", function()
        local _, _, ns_per_call = run(function(i, n)
            return n * 10 + (i % 5 == 0 and 1e6 or 0), i % 5 ~= 0
        end)
        assert.equal(10, ns_per_call)
    end)

    it("follows when calls become slower", function()
        local _, n, ns_per_call = run(function(i, n) return n * (i < 8 and 1 or 100) end)
        assert.equal(100, ns_per_call)
        assert.is_true(n * 100 <= 1.6 * TARGET, n)
    end)

    it("says a level also after one batch", function()
        local series, n, ns_per_call, steady = run(flat(2e9))
        assert.equal(1, series.batches)
        assert.equal(1, n)
        assert.equal(2e9, ns_per_call)
        assert.is_false(steady)
    end)
end)

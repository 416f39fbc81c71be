local bench = require "spec.support.bench"
local child = require "spec.support.child"
local loops = require "moonlap.bench.loop"

describe("loop", function()
    it("calls with the state, numbered from the first", function()
        local seen, state, sink = {}, {}, { false }
        local loop = loops.batch(sink, function(s, i)
            assert.equal(state, s)
            seen[#seen + 1] = i
            return i * 10
        end, state)
        loop(3, 1)
        loop(2, 4)
        assert.same({ 1, 2, 3, 4, 5 }, seen)
        assert.equal(50, sink[1])
    end)

    it("of laps tells the time after each call, and another records what lies between", function()
        local at, laps, stamps = 5, {}, {}
        local loop = loops.laps(function() return at end, { false }, function(_, i)
            at = at + i
        end, nil, stamps)
        loop(3, 2)
        assert.same({ [0] = 5, 7, 10, 14 }, stamps)

        local histogram = { record = function(_, ns) laps[#laps + 1] = ns end }
        local record = loops.record(histogram, stamps)
        record(0, 3, 0.5)
        record(1, 2, 0)
        assert.same({ 1.5, 2.5, 3.5, 3 }, laps)
    end)

    it("is another prototype for each case, with a root trace of its own", function()
        local seen = child.answer [[
            local ledger = require("moonlap.bench.ledger").open()
            local loops = require "moonlap.bench.loop"
            local function run(_, i) return i end
            local roots = {}
            for k = 1, 3 do
                local before = #ledger.traces
                loops.batch({false}, run, nil)(2000, 1)
                roots[k] = 0
                for t = before + 1, #ledger.traces do
                    local trace = ledger.traces[t]
                    if not trace.parent and trace.link == "loop" then roots[k] = roots[k] + 1 end
                end
            end
            answer(roots)
        ]]
        assert.same({ 1, 1, 1 }, seen)
    end)

    it("has an empty twin that returns what the case does: its turn for a number", function()
        local t = {}
        assert.equal(t, loops.empty(t)())
        assert.equal(0, select("#", loops.empty(nil)()))
        assert.equal(17, loops.empty(3)(nil, 17))
    end)
end)

describe("bytes per call", function()
    local function memory(run, job)
        local r = bench.case(run, job)
        assert.equal(0, r.status, r.stderr .. r.channel)
        return r:one "memory"
    end

    it("counts what run returns: it is kept", function()
        local m = memory "function(_, i) return {i, i} end"
        -- A table of two takes the same, compiled or not; at least its header of 32 bytes.
        assert.is_true(m.interpreted_bytes_per_call >= 32)
        assert.is_true(math.abs(m.bytes_per_call - m.interpreted_bytes_per_call) < 1,
            m.bytes_per_call)
    end)

    it("shows an allocation that the JIT dropped", function()
        local m = memory "function(_, i) local t = {i, i} return t[1] end"
        assert.is_true(m.bytes_per_call < 1, m.bytes_per_call)
        assert.is_true(m.interpreted_bytes_per_call >= 32, m.interpreted_bytes_per_call)
    end)

    for _, mode in ipairs { "on", "off" } do
        it("is nothing for an empty function, with the JIT " .. mode, function()
            local m = memory("function() end", mode == "off" and { jit = "off" } or nil)
            assert.is_true(m.bytes_per_call < 0.5, m.bytes_per_call)
            assert.is_true(m.interpreted_bytes_per_call < 0.5, m.interpreted_bytes_per_call)
        end)
    end

    it("tells the heap that the case leaves behind", function()
        local m = memory "function(_, i) kept = kept or ('x'):rep(3e6) return i end"
        assert.is_true(m.heap_bytes > 3e6)
    end)
end)

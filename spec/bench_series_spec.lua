local new_series = require("moonlap.bench.series").new

local CAPACITY = 1000

-- What a series looks at, without a VM. Each read of the clock takes 1 ns; a loop is told
-- what happens inside it by the functions `on`.
local function new_watch()
    local watch = { start = 100, at = 100, lines = {}, ledger = { events = 0 } }
    watch.clock = {
        now = function()
            watch.at = watch.at + 1
            return watch.at
        end,
    }
    watch.switched = 0
    watch.pollution = {
        switches = function() return watch.switched end,
        stolen = function()
            local looked, stolen = watch.looks, watch.stolen
            watch.looks, watch.stolen = false, false
            return looked or false, stolen or false
        end,
    }
    watch.channel = {
        write = function(_, line) table.insert(watch.lines, line) end,
    }
    return watch, new_series(watch)
end

local function idle() end

describe("series", function()
    it("times the loop and hands it the number of calls", function()
        local watch, series = new_watch()
        local asked
        local ns, clean = series:time("measure", 1, function(n)
            asked = n
            watch.at = watch.at + 500
        end, 42)
        assert.equal(42, asked)
        assert.equal(501, ns)
        assert.is_true(clean)
        series:write()
        local line = watch.lines[1]
        assert.equal("batches", line.type)
        assert.equal("measure", line.kind)
        assert.equal(1, line.series)
        assert.same({ 42 }, { unpack(line.calls) })
        assert.same({ 501 }, { unpack(line.ns) })
    end)

    it("says when the first batch began, since the process did", function()
        local watch, series = new_watch()
        watch.at = 5100
        series:time("measure", 1, idle, 1)
        series:time("measure", 1, idle, 1)
        series:write()
        assert.equal(5001, watch.lines[1].at_ns)
    end)

    it("writes nothing when there is nothing", function()
        local watch, series = new_watch()
        series:write()
        assert.same({}, watch.lines)
        series:time("measure", 1, idle, 1)
        series:write()
        series:write()
        assert.equal(1, #watch.lines)
    end)

    it("times the yardsticks before each batch and after the last", function()
        local watch = new_watch()
        local looks, loops = 0, {}
        watch.yardsticks = {
            time = function(_, into, i)
                looks = looks + 1
                into.core[i], into.cache[i], into.memory[i] = looks, looks / 4, 0
            end,
        }
        local series = new_series(watch)
        for _ = 1, CAPACITY + 1 do
            series:time("measure", 1, function() table.insert(loops, looks) end, 1)
        end
        series:write()
        assert.same({ 1, 2, CAPACITY, CAPACITY + 2 },
            { loops[1], loops[2], loops[CAPACITY], loops[CAPACITY + 1] })
        local first, second = watch.lines[1].yardsticks, watch.lines[2].yardsticks
        assert.equal(CAPACITY + 1, #first.core)
        assert.same({ CAPACITY + 2, CAPACITY + 3 }, { unpack(second.core) })
        assert.equal(3, first.cache[11]) -- whole ns
        assert.equal(CAPACITY + 1, #first.memory)
    end)

    it("leaves out marks that are all zero", function()
        local watch, series = new_watch()
        for _ = 1, 3 do
            series:time("measure", 1, idle, 1)
        end
        series:write()
        local line = watch.lines[1]
        assert.is_nil(line.traces)
        assert.is_nil(line.switches)
        assert.is_nil(line.steal)
    end)

    it("marks trace events where they happened", function()
        local watch, series = new_watch()
        local _, clean = series:time("warmup", 0, idle, 1)
        assert.is_true(clean)
        watch.ledger.events = 7 -- between batches: not in one
        _, clean = series:time("warmup", 0, idle, 1)
        assert.is_true(clean)
        _, clean = series:time("warmup", 0, function() watch.ledger.events = 10 end, 1)
        assert.is_false(clean)
        series:time("warmup", 0, idle, 1)
        series:write()
        assert.same({ 0, 0, 3, 0 }, { unpack(watch.lines[1].traces) })
        assert.is_nil(watch.lines[1].switches)
    end)

    it("marks involuntary switches where they happened", function()
        local watch, series = new_watch()
        watch.switched = 5
        series:time("measure", 1, idle, 1)
        local _, clean = series:time("measure", 1, function() watch.switched = 7 end, 1)
        assert.is_false(clean)
        series:write()
        assert.same({ 0, 2 }, { unpack(watch.lines[1].switches) })
        assert.is_nil(watch.lines[1].traces)
    end)

    it("marks all batches since the last look as stolen from", function()
        local watch, series = new_watch()
        local function look(stolen)
            return function() watch.looks, watch.stolen = true, stolen end
        end
        series:time("measure", 1, idle, 1)
        series:time("measure", 1, look(false), 1)
        series:time("measure", 1, idle, 1)
        series:time("measure", 1, look(true), 1)
        series:time("measure", 1, idle, 1)
        series:time("measure", 1, look(false), 1)
        series:write()
        assert.same({ 0, 0, 1, 1, 0, 0 }, { unpack(watch.lines[1].steal) })
    end)

    it("begins another line when kind or series change", function()
        local watch, series = new_watch()
        series:time("warmup", 0, idle, 1)
        series:time("measure", 1, idle, 2)
        series:time("measure", 2, idle, 3)
        series:time("empty", 2, idle, 4)
        series:write()
        local seen = {}
        for i, line in ipairs(watch.lines) do
            seen[i] = { line.kind, line.series, unpack(line.calls) }
        end
        assert.same({ { "warmup", 0, 1 }, { "measure", 1, 2 }, { "measure", 2, 3 },
            { "empty", 2, 4 } }, seen)
    end)

    it("writes a line when full, and loses no batch", function()
        local watch, series = new_watch()
        local total = 2 * CAPACITY + 17
        for i = 1, total do
            series:time("measure", 1, function()
                watch.ledger.events = watch.ledger.events + (i == CAPACITY + 5 and 1 or 0)
            end, i)
        end
        series:write()
        local seen = {}
        for _, line in ipairs(watch.lines) do
            assert.is_true(#line.calls <= CAPACITY)
            assert.equal(#line.calls, #line.ns)
            for i, n in ipairs(line.calls) do
                seen[#seen + 1] = n
                assert.equal(n == CAPACITY + 5 and 1 or 0, line.traces and line.traces[i] or 0)
            end
        end
        assert.equal(total, #seen)
        for i, n in ipairs(seen) do
            assert.equal(i, n)
        end
        assert.equal(3, #watch.lines)
        assert.is_nil(watch.lines[1].traces)
        assert.equal(CAPACITY, #watch.lines[2].traces)
    end)

    it("keeps tenths of a nanosecond", function()
        local watch, series = new_watch()
        series:time("measure", 1, function() watch.at = watch.at + 99.26 end, 1)
        series:write()
        assert.is_true(math.abs(watch.lines[1].ns[1] - 100.3) < 1e-9)
    end)
end)

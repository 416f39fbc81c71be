--- What yardsticks cost, what a case does to them, and what they do to a case:
--
--     luajit cost.lua          -- the table of costs
--     luajit cost.lua lengths  -- longer pieces beside those that are used
--
-- All figures are medians.
package.path = "../../../lua/?.lua;../../../lua/?/init.lua;" .. package.path

local ffi = require "ffi"
local clock_of = require "moonlap.clock"
local measure = require "moonlap.bench.measure"
local yardstick = require "moonlap.bench.yardstick"

local clock = clock_of.open()
local yardsticks = assert(yardstick.open(clock))
local now = clock.now

local function quantile(times, q)
    table.sort(times)
    return times[math.min(#times, math.floor(q * #times) + 1)]
end

local function median(times) return quantile(times, 0.5) end

-- A ring of `bytes` that is read in no order: what it reads is out of the other's cache lines.
local function walk_of(bytes)
    local n = bytes / 64
    local next = ffi.new("int32_t[?]", bytes / 4)
    local order = {}
    for i = 1, n do
        order[i] = i - 1
    end
    for i = n, 2, -1 do
        local k = math.random(i)
        order[i], order[k] = order[k], order[i]
    end
    for i = 1, n do
        next[order[i] * 16] = order[i % n + 1] * 16
    end
    local at = 0
    return function(steps)
        local here = at
        for _ = 1, steps do
            here = next[here]
        end
        at = here
    end
end

local function spin(turns)
    local x = 0
    for i = 1, turns do
        x = x + i * i % 7
    end
    return x
end

-- How many steps of a function take that many ns where nothing disturbs.
local function steps_in(ns, run)
    local most = 0
    for _ = 1, 30 do
        local steps, took = 100
        repeat
            steps = steps * 2
            local start = now()
            run(steps)
            took = now() - start
        until took > ns / 2
        most = math.max(most, math.ceil(steps * ns / took))
    end
    return most
end

local looks = {}
for _, kind in ipairs(yardstick.KINDS) do
    looks[kind] = {}
end

local function costs()
    local target = measure.batch_target(clock, { measure_ns = 2e8 }, yardsticks)
    local evicting = walk_of(64 * 2 ^ 20)
    local small = walk_of(16 * 1024) -- half of a first-level cache
    local cases = {
        { name = "arithmetic", run = spin },
        { name = "64 MB in no order", run = evicting },
        { name = "16 kB, again and again", run = small },
    }
    print("| before the look | a look | share of the time | core | cache | memory | the case "
        .. "behind a look to one behind none |")
    print "| --- | --- | --- | --- | --- | --- | --- |"
    for _, case in ipairs(cases) do
        local steps = steps_in(target, case.run)
        local took, batches, bare = {}, {}, {}
        for _, kind in ipairs(yardstick.KINDS) do
            looks[kind] = {}
        end
        for i = 1, 3000 do
            case.run(steps)
            local start = now()
            case.run(steps)
            bare[i] = now() - start
            start = now()
            yardsticks:time(looks, i)
            took[i] = now() - start
            start = now()
            case.run(steps)
            batches[i] = now() - start
        end
        case.look, case.batch = median(took), median(batches)
        local cells = {}
        for k, kind in ipairs(yardstick.KINDS) do
            cells[k] = ("%.2f µs"):format(median(looks[kind]) / 1000)
        end
        print(("| %s | %.2f µs | %.1f %% | %s | %.3f |"):format(case.name, case.look / 1000,
            100 * case.look / (case.look + case.batch), table.concat(cells, " | "),
            median(batches) / median(bare)))
    end
end

-- Pieces of the core's work of several lengths around the same batches.
local function lengths()
    local pieces = { 2600, 5200, 10400, 20800 }
    local words = { "cat", "moon", "lap", "purr" }
    local cases = {
        { name = "arithmetic", run = spin },
        { name = "strings", run = function(turns)
            local s
            for i = 1, turns do
                s = table.concat({ words[i % 4 + 1], i % 100, words[i % 3 + 1] }, " ")
            end
            return s
        end },
        { name = "tables", run = function(turns)
            local t
            for i = 1, turns do
                t = { i, { i } }
            end
            return t
        end },
    }
    local function read(into, i)
        for k, turns in ipairs(pieces) do
            into[k][i] = yardsticks.run(yardsticks.core[1], yardsticks.core[2], 10, turns)
                * yardsticks.ns_per_tick
        end
    end
    print "| piece | case | batches near | spread of a second's medians | the same of all batches |"
    print "| --- | --- | --- | --- | --- |"
    for _, case in ipairs(cases) do
        local steps = steps_in(2e5, case.run)
        local times, size = { {}, {}, {}, {} }, 0
        local ns, second = {}, {}
        local begun = now()
        read(times, 0)
        while now() - begun < 15e9 do
            size = size + 1
            local start = now()
            case.run(steps)
            ns[size], second[size] = now() - start, math.floor((start - begun) / 1e9)
            read(times, size)
        end
        for k in ipairs(pieces) do
            local sorted = {}
            for i = 0, size do
                sorted[i + 1] = times[k][i]
            end
            local best = quantile(sorted, 0.02)
            local near, chosen, all = 0, {}, {}
            for i = 1, size do
                local s = second[i]
                chosen[s], all[s] = chosen[s] or {}, all[s] or {}
                table.insert(all[s], ns[i])
                if math.max(times[k][i - 1], times[k][i]) <= 1.03 * best then
                    near = near + 1
                    table.insert(chosen[s], ns[i])
                end
            end
            local function spread(of)
                local low, high, n = 1 / 0, 0, 0
                for _, list in pairs(of) do
                    if #list >= 10 then
                        local m = median(list)
                        low, high, n = math.min(low, m), math.max(high, m), n + 1
                    end
                end
                return n < 2 and "–" or ("%.3f (%d)"):format(high / low, n)
            end
            print(("| %.1f µs | %s | %.0f %% | %s | %s |"):format(best / 1000, case.name,
                100 * near / size, spread(chosen), spread(all)))
        end
    end
end

if arg[1] == "lengths" then
    lengths()
else
    costs()
end

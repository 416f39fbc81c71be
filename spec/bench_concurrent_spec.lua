local ballast = require "moonlap.bench.ballast"
local bench = require "spec.support.bench"
local concurrent = require "moonlap.bench.concurrent"
local histogram = require "moonlap.histogram"
local random = require "moonlap.bench.random"

local READ = 1000 -- ns that each read of the simulated clock takes

-- Measures a case in simulated time; `run(world, i)` may let time pass by adding to `at`.
local function simulate(job, run)
    local world = { at = 0, lines = {} }
    local self = {
        job = job, case = { spec = { run = run } }, state = world, sink = {}, calls = 1,
        in_nginx = false,
        clock = {
            cost_ns = 20,
            now = function()
                world.at = world.at + READ
                return world.at
            end,
        },
        ledger = { report = function() return { type = "jit" } end, close = function() end },
        barrier = { wait = function() end },
        channel = { write = function(_, line) world.lines[line.kind or line.type] = line end },
    }
    assert.equal("enough", concurrent.run(self))
    return world.lines, self
end

-- How many recorded values lie above a limit.
local function above(line, limit)
    local h = assert(histogram.decode(line.histogram))
    local n = 0
    for i = 1, line.count do
        n = n + (h:percentile((i - 0.5) / line.count * 100) > limit and 1 or 0)
    end
    return n
end

local function quick(world)
    world.at = world.at + 1e4
    coroutine.yield()
end

describe("closed loop", function()
    it("times every call, from its start to its end", function()
        local calls = 0
        local lines, self = simulate({ measure_ns = 2e8 }, function(world)
            calls = calls + 1
            quick(world)
        end)
        assert.equal(calls + 1, self.calls) -- process.lua makes the first call
        assert.is_nil(lines.response)
        local service = lines.service
        assert.is_true(service.count > 0 and service.count < calls) -- some were warm-up
        assert.equal(1e4 + READ, service.mean_ns)
        assert.equal(1e4 + READ, service.min_ns)
        assert.equal(1e4 + READ, service.max_ns)
        assert.is_true(service.elapsed_ns >= 2e8)
    end)

    it("measures beside a heap that its seed draws, after the warm-up", function()
        local heaps = setmetatable({}, { __mode = "k" })
        local new = ballast.new
        finally(function() ballast.new = new end)
        function ballast.new(...)
            local strings = new(...)
            heaps[strings] = true
            return strings
        end
        local alive
        local function run(world)
            if alive == nil and next(heaps) then
                collectgarbage()
                alive = next(heaps) ~= nil
            end
            quick(world)
        end
        local _, one = simulate({ measure_ns = 2e8, seed = 1 }, run)
        assert.is_true(alive)
        assert.same(new(random.new(1)), one.ballast)
        local _, other = simulate({ measure_ns = 2e8, seed = 2 }, run)
        assert.are_not.same(one.ballast, other.ballast)
    end)

    it("keeps as many calls under way as asked", function()
        local under_way, most = 0, 0
        simulate({ measure_ns = 1e8, concurrency = 5 }, function(world)
            under_way = under_way + 1
            most = math.max(most, under_way)
            quick(world)
            under_way = under_way - 1
        end)
        assert.equal(5, most)
        assert.equal(0, under_way)
    end)
end)

describe("open loop", function()
    it("keeps the schedule", function()
        local lines = simulate({ measure_ns = 2e8, rate = 1000 }, quick)
        assert.equal(200, lines.service.count)
        assert.equal(200, lines.response.count)
        assert.equal(0, lines.response.late)
        assert.is_nil(lines.service.late)
    end)

    it("never has a response shorter than its service", function()
        local lines = simulate({ measure_ns = 2e8, rate = 1000, concurrency = 3 }, quick)
        for _, field in ipairs { "min_ns", "mean_ns", "max_ns" } do
            assert.is_true(lines.response[field] >= lines.service[field], field)
        end
    end)

    it("lets every call that a stall kept waiting see it", function()
        local stalled = false
        local lines = simulate({ measure_ns = 2e8, rate = 1000 }, function(world, i)
            if i == 100 then -- 41 to 240 are measured, with 40 calls of warm-up
                stalled = true
                world.at = world.at + 2e7
            end
            quick(world)
        end)
        assert.is_true(stalled)
        -- One call lasted 20 ms, and those due meanwhile, one a ms, waited for 19, 18, …
        assert.equal(1, above(lines.service, 1e6))
        local waited = above(lines.response, 1e6)
        assert.is_true(waited >= 18 and waited <= 21, waited)
        local long = above(lines.response, 1e7)
        assert.is_true(long >= 9 and long <= 11, long)
        assert.is_true(lines.response.late >= 18 and lines.response.late <= 21)
    end)
end)

describe("a yielding case in a process", function()
    it("is found out, and measured as such", function()
        local r = bench.case "function() coroutine.yield() end"
        assert.equal(0, r.status, r.stderr .. r.channel)
        assert.is_true(r:one("finish").yields)
        assert.same({}, r:all "batches")
        assert.is_true(r:one("laps", "service").count > 0)
        assert.same({ "process", "laps", "jit", "finish" }, r:types())
    end)

    it("tells an error inside a thread with its place", function()
        local r = bench.case("function(_, i)\ncoroutine.yield()\n"
            .. "if i == 50 then error({}) end end")
        assert.equal(1, r.status)
        local fault = r:one "fault"
        assert.equal("bench.lua", fault.file)
        assert.equal(3, fault.line)
        assert.equal("run", fault.stage)
        assert.matches("bench.lua:3", fault.traceback)
    end)
end)

local bench = require "spec.support.bench"

local PLAIN = "require('moonlap').bench('case', function(_, i) return i end)"

-- A bench file with the one case "case"; each stage in a line of its own.
local function stages(parts)
    return table.concat({
        "require('moonlap').bench {",
        "name = 'case',",
        "setup = function() " .. (parts.setup or "") .. " end,",
        "run = function(_, i) " .. (parts.run or "return i") .. " end,",
        "check = function(result) " .. (parts.check or "") .. " end,",
        "teardown = function() " .. (parts.teardown or "") .. " end,",
        "}",
    }, "\n")
end

-- The process has finished its job, and nothing but lines of the record is on the channel.
local function assert_finished(r)
    assert.equal(0, r.status, r.stderr .. r.channel)
    assert.equal("process", r.lines[1].type)
    assert.equal("finish", r.lines[#r.lines].type)
    assert.same({}, r:all "fault")
end

local function assert_fault(r, expected)
    assert.equal(expected.status or 1, r.status)
    assert.same({}, r:all "finish")
    local fault = r:one "fault"
    assert.equal(fault, r.lines[#r.lines])
    expected.status = nil
    for key, value in pairs(expected) do
        assert.equal(value, fault[key], key)
    end
    return fault
end

describe("process", function()
    describe("that lists", function()
        it("writes a line for each case, and no measurement", function()
            local r = bench.run([[
local moonlap = require "moonlap"
moonlap.bench("a", function() error "never called" end)
moonlap.bench {
    name = "b", run = print, setup = error, params = { n = { 1, 2 } }, tags = { "x", "y" },
    concurrency = 3, rate = 50,
}]], { mode = "list", runtime = "luajit" })
            assert.equal(0, r.status, r.stderr)
            assert.same({ "case", "finish" }, r:types())
            local cases = r:all "case"
            assert.equal(3, #cases)
            for i, name in ipairs { "a", "b/n=1", "b/n=2" } do
                assert.equal(name, cases[i].name)
                assert.equal(i - 1, cases[i].index)
                assert.equal("luajit", cases[i].runtime)
                assert.equal("bench.lua", cases[i].file)
                assert.equal(i == 1 and 2 or 3, cases[i].line)
            end
            assert.is_nil(cases[1].params)
            assert.same({ n = 2 }, cases[3].params)
            assert.equal("b", cases[3].benchmark)
            assert.same({ "x", "y" }, cases[3].tags)
            assert.equal(3, cases[3].concurrency)
            assert.equal(50, cases[3].rate)
        end)

        it("says a file's error without a case", function()
            local r = bench.run("local x = = 1", { mode = "list" })
            local fault = assert_fault(r,
                { case = -1, kind = "error", stage = "load", file = "bench.lua", line = 1 })
            assert.matches("unexpected symbol near", fault.text)
        end)

        it("says that there is no file", function()
            local r = bench.run(PLAIN, { mode = "list", file = "none.lua" })
            local fault = assert_fault(r, { case = -1, stage = "load" })
            assert.matches("none.lua", fault.text)
        end)
    end)

    describe("that measures", function()
        it("writes its lines in order", function()
            local r = bench.run(PLAIN, { process = 4, case = 2, round = 3 })
            assert_finished(r)
            assert.same({ "process", "batches", "jit", "memory", "finish" }, r:types())
            local process = r:one "process"
            assert.equal(2, process.case)
            assert.equal(3, process.round)
            assert.equal(7, process.seed)
            assert.is_true(process.clock.step_ns > 0)
            for _, line in ipairs(r.lines) do
                assert.equal(4, line.process)
                assert.equal(0, line.worker)
            end
        end)

        it("counts every case as case 0 unless told", function()
            assert.equal(0, bench.run(PLAIN):one("process").case)
        end)

        it("writes parallel lists, the same number of batches in each", function()
            local r = bench.run(PLAIN)
            assert_finished(r)
            local kinds = {}
            for _, line in ipairs(r:all "batches") do
                kinds[line.kind] = true
                assert.is_true(#line.calls >= 1)
                assert.equal(#line.calls, #line.ns)
                for _, mark in ipairs { "traces", "switches", "steal" } do
                    assert.is_true(line[mark] == nil or #line[mark] == #line.calls)
                end
            end
            assert.same({ warmup = true, measure = true, empty = true }, kinds)
        end)

        it("slows every batch down by a share, for proving gates", function()
            local function fastest(job)
                local ns = 1 / 0
                for _, line in ipairs(bench.run(PLAIN, job):all("batches", "measure")) do
                    for i = 1, #line.ns do
                        ns = math.min(ns, line.ns[i] / line.calls[i])
                    end
                end
                return ns
            end
            assert.is_true(fastest { slowdown = 9 } > 3 * fastest())
        end)

        it("adds laps when asked", function()
            local r = bench.run(PLAIN, { laps = true, lap_count = 5000 })
            assert_finished(r)
            local laps = r:one "laps"
            assert.equal(5000, laps.count)
            assert.is_true(laps.min_ns <= laps.mean_ns and laps.mean_ns <= laps.max_ns)
        end)

        it("finds a case with parameters by its index, and hands it them", function()
            local r = bench.run([[
require("moonlap").bench {
    name = "case", params = { n = { 1, 2 } },
    run = function(state) return state.n end,
    check = function(result) assert(result == 2) end,
}]], { index = 1, name = "case/n=2" })
            assert_finished(r)
        end)

        it("hands run what setup returned, and check the last result", function()
            local r = bench.run(stages {
                setup = "return {sum = 0}", run = "return 'x'", check = "assert(result == 'x')",
            })
            assert_finished(r)
        end)

        it("refuses a file that declares other cases now", function()
            local fault = assert_fault(bench.run(PLAIN, { name = "other" }),
                { case = 0, kind = "error", stage = "load" })
            assert.matches("'other' is not at its place", fault.text)
            fault = assert_fault(bench.run(PLAIN, { index = 5 }), { stage = "load" })
            assert.matches("'case' is not at its place", fault.text)
        end)

        it("measures code in place of a file", function()
            local r = bench.run("", { code = { "x + 1" }, setup = "local x = 41", name = "x + 1" })
            assert_finished(r)
        end)

        it("measures with the JIT off, and says so", function()
            local r = bench.run(PLAIN, { jit = "off" })
            assert_finished(r)
            assert.is_false(r:one("process").vm.jit)
            assert.same({}, r:one("jit").traces)
        end)
    end)

    describe("tells an error in", function()
        local lines = { setup = 3, run = 4, check = 5, teardown = 6 }
        for stage, line in pairs(lines) do
            it(stage .. ", with its place", function()
                local r = bench.run(stages { [stage] = "error('out of cheese')" })
                local fault = assert_fault(r, {
                    case = 0, kind = "error", stage = stage, file = "bench.lua", line = line,
                    text = "out of cheese",
                })
                assert.matches("bench.lua:" .. line, fault.traceback)
                assert.is_nil(fault.traceback:find("moonlap/bench", 1, true), fault.traceback)
            end)
        end

        it("load, with its place", function()
            local r = bench.run("\nerror('at once')")
            assert_fault(r, { kind = "error", stage = "load", file = "bench.lua", line = 2,
                text = "at once" })
        end)

        it("a module of the user's, with its place", function()
            local r = bench.run(stages { run = "return require('other')()" },
                nil, { files = { ["other.lua"] = "return function()\n  local x = nil + 1 end" } })
            local fault = assert_fault(r, { kind = "error", stage = "run", line = 2 })
            assert.matches("other.lua$", fault.file)
            assert.matches("arithmetic", fault.text)
        end)
    end)

    for _, number in ipairs { 1, 2, 1000, 54321 } do
        it("knows the number of the call that threw: " .. number, function()
            local r = bench.run(stages {
                run = "if i == " .. number .. " then error('now') end return i",
            })
            assert_fault(r, { stage = "run", call = number, line = 4, text = "now" })
        end)
    end

    it("counts calls through all batches, and repeats none", function()
        local r = bench.run(stages {
            setup = "last = 0", run = "assert(i == last + 1) last = i return i",
        })
        assert_finished(r)
    end)

    for what, code in pairs {
        ["a table"] = "error({code = 1})", ["nil"] = "error()", ["a boolean"] = "error(false)",
        ["a table whose words throw"] =
            "error(setmetatable({}, {__tostring = function() error('again') end}))",
    } do
        it("tells an error whose value is " .. what, function()
            local r = bench.run(stages { run = code })
            assert_fault(r, { kind = "error", stage = "run", file = "bench.lua" })
        end)
    end

    for call, status in pairs { ["os.exit(7)"] = 7, ["os.exit(0)"] = 0, ["os.exit(true)"] = 0 } do
        it("tells where the code ended its own process: " .. call, function()
            local r = bench.run(stages { run = "if i == 500 then " .. call .. " end return i" })
            local fault = assert_fault(r, { status = status, kind = "exit", stage = "run",
                file = "bench.lua", line = 4 })
            assert.is_truthy(fault.text:find("os.exit(", 1, true))
        end)
    end

    it("tells when the memory limit was reached", function()
        local r = bench.run(stages {
            setup = "leak = {}", run = "leak[#leak + 1] = ('x'):rep(1000) .. i",
        }, { memory_bytes = 64 * 2 ^ 20, warmup_ns = 1e12, batch_ns = 1e9 })
        assert_fault(r, { case = 0, kind = "memory", stage = "run", file = "bench.lua" })
    end)

    describe("keeps the channel clean when the code", function()
        for what, code in pairs {
            ["prints"] = "if i < 100 then print('{\"type\":\"finish\"}') end return i",
            ["closes stdout"] = "if i == 5 then io.stdout:close() end return i",
            ["closes stderr"] = "if i == 5 then io.stderr:close() end return i",
            ["writes to stderr"] = "if i < 100 then io.stderr:write('x') end return i",
            ["writes to descriptor 3"] = [[if i == 5 then
                local f = io.open('/dev/fd/3', 'w') if f then f:write('x') f:close() end end
                return i]],
            ["starts a child"] = "if i == 5 then os.execute('echo x >&3') end return i",
        } do
            it(what, function()
                assert_finished(bench.run(stages { run = code }))
            end)
        end

        it("keeps it from child processes", function()
            local r = bench.run(stages { setup = "os.execute('ls -l /proc/self/fd')" })
            assert_finished(r)
            assert.is_nil(r.stdout:find(".channel", 1, true), r.stdout)
            assert.is_truthy(r.stdout:find(".stdout", 1, true), r.stdout)
        end)
    end)

    it("measures a user's file in a folder called moonlap", function()
        local r = bench.run("", { file = "moonlap/bench/user.lua" },
            { files = { ["moonlap/bench/user.lua"] = stages { check = "error('here')" } } })
        assert_fault(r, { stage = "check", file = "moonlap/bench/user.lua", line = 5 })
    end)

    it("says that there is no job", function()
        local r = bench.run(PLAIN, nil, { no_job = true })
        assert.equal(1, r.status)
        assert.equal("moonlap: MOONLAP_JOB is not set: this module is called by moonlap\n",
            r.stderr)
        assert.equal("", r.channel)
    end)

    it("says that there is no channel", function()
        local r = bench.run(PLAIN, nil, { channel = false })
        assert.equal(1, r.status)
        assert.matches("^moonlap: descriptor 3 is not open", r.stderr)
    end)

    describe("with a seed", function()
        local RANDOM = stages { teardown = "print(first)", setup = "first = math.random()" }

        local function draw(seed)
            local r = bench.run(RANDOM, { seed = seed })
            assert_finished(r)
            return r:one("process").prng, r.stdout
        end

        it("draws the same again, and otherwise with another", function()
            local prng, random = draw(11)
            local again, random_again = draw(11)
            local other, random_other = draw(12)
            assert.same(prng, again)
            assert.equal(random, random_again)
            assert.not_equal(random, random_other)
            assert.equal(jit.prngstate ~= nil, prng ~= nil)
            if prng then
                assert.not_same(prng, other)
            end
        end)
    end)
end)

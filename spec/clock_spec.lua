local child = require "spec.support.child"
local clock = require "moonlap.clock"

-- A folder with the two files that say whether the time-stamp counter is a clock.
local function with_root(flags, source, body)
    return child.with_folder(function(root)
        child.write(root .. "/proc/cpuinfo",
            "processor\t: 0\nflags\t\t: " .. flags .. "\nbugs\t: \n")
        child.write(root .. "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            source .. "\n")
        return body(root)
    end)
end

local FIT = "fpu tsc constant_tsc nonstop_tsc sse2"

describe("clock", function()
    for _, kind in ipairs { "auto", "monotonic" } do
        it("knows its step and cost: " .. kind, function()
            local c = assert(clock.open(kind))
            for _, name in ipairs { "step_ns", "cost_ns" } do
                assert.is_true(c[name] > 0 and c[name] < 1 / 0, name .. " " .. c[name])
            end
        end)

        it("never goes back: " .. kind, function()
            local now = clock.open(kind).now
            local last = now()
            for _ = 1, 200000 do
                local t = now()
                if t < last then
                    assert.is_true(false, ("%.3f after %.3f"):format(t, last))
                end
                last = t
            end
        end)

        for _, mode in ipairs { "compiled", "interpreted" } do
            it("allocates nothing when " .. mode .. ": " .. kind, function()
                local bytes = child.answer(([[
                    local now = require("moonlap.clock").open(%q).now
                    local function loop(n)
                        local sum = 0
                        for _ = 1, n do sum = sum + now() end
                        return sum
                    end
                    loop(1e4) -- traces are allocated here
                    collectgarbage() collectgarbage("stop")
                    local before = collectgarbage("count")
                    loop(1e4)
                    answer((collectgarbage("count") - before) * 1024 / 1e4)
                ]]):format(kind), { jit = mode == "compiled" })
                assert.is_true(bytes < 0.5, bytes .. " bytes a read") -- a side trace may come late
            end)
        end

        it("tells whether reads compile: " .. kind, function()
            local code = ("answer(require('moonlap.clock').open(%q).compiled)"):format(kind)
            assert.is_true(child.answer(code))
            assert.is_false(child.answer(code, { jit = false }))
        end)
    end

    it("has one time, whichever counter it reads", function()
        local tsc, reason = clock.open "tsc"
        if not tsc then
            assert.is_string(reason)
            return pending("no time-stamp counter to compare with: " .. reason)
        end
        local ticks, ns = tsc.now, clock.open("monotonic").now
        local before1, from, after1 = ticks(), ns(), ticks()
        repeat until ns() - from >= 5e7
        local before2, to, after2 = ticks(), ns(), ticks()
        -- An interruption between two reads widens the bracket, and fails nothing.
        local least, most = before2 - after1, after2 - before1
        assert.is_true((to - from) >= 0.99 * least, to - from .. " ns, at least " .. least)
        assert.is_true((to - from) <= 1.01 * most, to - from .. " ns, at most " .. most)
    end)

    describe("falls back to the monotonic clock, and says why", function()
        for name, case in pairs {
            ["another clock source"] = { FIT, "kvm-clock", "its clock source is kvm%-clock$" },
            ["not through sleep"] = { "fpu tsc constant_tsc sse2", "tsc", "not invariant" },
            ["not at one rate"] = { "fpu tsc nonstop_tsc sse2", "tsc", "not invariant" },
            ["a flag with a longer name"] = {
                "constant_tsc nonstop_tsc_s3", "tsc", "not invariant",
            },
        } do
            it(name, function()
                with_root(case[1], case[2], function(root)
                    local c = assert(clock.open("auto", root))
                    assert.equal("monotonic", c.source)
                    assert.matches(case[3], c.reason)
                    assert.is_nil(c.ns_per_tick)

                    local none, reason = clock.open("tsc", root)
                    assert.is_nil(none)
                    assert.equal(c.reason, reason)
                end)
            end)
        end

        it("nothing to read", function()
            local c = assert(clock.open("auto", "/nonexistent"))
            assert.equal("monotonic", c.source)
            assert.is_string(c.reason)
        end)
    end)

    it("takes the counter where the kernel trusts it", function()
        if jit.arch ~= "x64" then
            return pending("no time-stamp counter on " .. jit.arch)
        end
        with_root("fpu tsc constant_tsc sse2 nonstop_tsc", "tsc", function(root)
            local c = assert(clock.open("auto", root))
            assert.equal("tsc", c.source)
            assert.is_nil(c.reason)
            assert.is_true(c.ns_per_tick > 0 and c.ns_per_tick < 1 / 0)
        end)
    end)

    it("gives no reason where none was needed", function()
        assert.is_nil(clock.open("monotonic").reason)
    end)
end)

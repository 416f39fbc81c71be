local bench = require "spec.support.bench"
local child = require "spec.support.child"

local OPENED = [[
return function()
    local ledger = require("moonlap.bench.ledger").open()
    ledger.own, ledger.file, ledger.stage = true, "user.lua", "measure"
    return ledger, function()
        ledger:close()
        answer(ledger:report())
    end
end
]]

-- Runs code under an open ledger in a fresh process; returns the report. The code begins
-- on line 1 of user.lua.
local function ledger_of(code)
    return child.answer("local ledger, report = require('opened')() " .. code .. "\nreport()",
        { files = { ["opened.lua"] = OPENED } })
end

local function one(list, matches)
    local found
    for _, item in ipairs(list) do
        if matches(item) then
            assert.is_nil(found, "more than one")
            found = item
        end
    end
    return assert(found, "not found")
end

describe("ledger", function()
    it("tells a root trace with the lines it runs through", function()
        local r = ledger_of [[

            local function f(i)
                local a = i + 1
                return a
            end
            local s = 0
            for i = 1, 2000 do
                s = s + f(i)
            end]]
        assert.equal(1, #r.traces)
        local trace = r.traces[1]
        assert.equal("user.lua", trace.file)
        assert.equal(7, trace.line)
        assert.equal("loop", trace.link)
        assert.equal("measure", trace.stage)
        assert.is_nil(trace.parent)
        assert.is_true(trace.own)
        assert.is_true(trace.ins > 0 and trace.mcode > 0)
        assert.equal(r.mcode_bytes, trace.mcode)
        for _, line in ipairs { 3, 4, 8 } do
            assert.is_truthy(("-" .. trace.lines .. "-"):find("-" .. line .. "-", 1, true),
                trace.lines)
        end
    end)

    it("tells side traces with the trace and the exit that they leave", function()
        local r = ledger_of [[
            local s = 0
            for i = 1, 2000 do
                if i % 3 == 0 then s = s + 1 else s = s - 1 end
            end]]
        local roots, sides = {}, 0
        for _, trace in ipairs(r.traces) do
            if trace.parent then
                sides = sides + 1
                assert.is_true(roots[trace.parent])
                assert.is_true(trace.exit >= 0)
            end
            roots[trace.id] = true
        end
        assert.is_true(sides >= 1)
    end)

    it("names the bytecode that is not yet implemented, with its place", function()
        local r = ledger_of [[
            local t = {}
            for i = 1, 200 do
                t[1] = function() return i end
            end]]
        assert.same({}, r.traces)
        local abort = one(r.aborts, function(a) return a.nyi ~= nil end)
        assert.equal("FNEW", abort.nyi)
        assert.equal("NYI: bytecode FNEW", abort.reason)
        assert.equal("user.lua", abort.file)
        assert.equal(3, abort.line)
        assert.equal("measure", abort.stage)
        assert.is_true(abort.count >= 1)
        assert.same({}, r.blacklisted)
    end)

    it("names the built-in function that ends recording, with the user's place", function()
        local r = ledger_of [[
            require("jit.opt").start("minstitch=1000")
            for i = 1, 2000 do
                collectgarbage("count")
            end]]
        local abort = one(r.aborts, function() return true end)
        assert.equal("collectgarbage", abort.nyi)
        assert.matches("collectgarbage", abort.reason)
        assert.equal("user.lua", abort.file)
        assert.equal(3, abort.line)
    end)

    it("tells other aborts inside a built-in function with the user's place", function()
        local r = ledger_of [[
            local ffi = require "ffi"
            for i = 1, 2000 do
                ffi.new("int[3]", {1, 2, 3})
            end]]
        local abort = one(r.aborts, function() return true end)
        assert.matches("in ffi.new$", abort.reason)
        assert.is_nil(abort.nyi)
        assert.equal("user.lua", abort.file)
        assert.equal(3, abort.line)
    end)

    it("finds the loop that LuaJIT has given up", function()
        local r = ledger_of [[
            local t = {}
            for j = 1, 3000 do
                for i = 1, 200 do
                    t[1] = function() return i end
                end
            end]]
        local given_up = one(r.blacklisted, function() return true end)
        assert.same({ file = "user.lua", line = 3, what = "loop" }, given_up)
    end)

    it("finds the function that LuaJIT has given up", function()
        local r = ledger_of [[
            local function f(i) return function() return i end end
            local call = loadstring("local f = ... for i = 1, 1e6 do f(i) end")
            jit.off(call)
            call(f)]]
        local given_up = one(r.blacklisted, function(b) return b.what == "function" end)
        assert.equal("user.lua", given_up.file)
        assert.equal(1, given_up.line)
    end)

    it("counts flushes, and no machine code that is gone", function()
        local r = ledger_of [[
            local s = 0
            for i = 1, 2000 do s = s + i end
            jit.flush()
            for i = 1, 2000 do s = s + i end]]
        assert.equal(1, r.flushes)
        assert.equal(2, #r.traces)
        assert.equal(0, r.traces[1].mcode)
        assert.is_true(r.traces[2].mcode > 0)
        assert.equal(r.traces[2].mcode, r.mcode_bytes)
    end)

    it("counts every event while it listens, and none after", function()
        local seen = child.answer([[
            local ledger = require("moonlap.bench.ledger").open()
            local function loop() local s = 0 for i = 1, 200 do s = s + i end end
            loop()
            local open = ledger.events
            ledger:close()
            for _ = 1, 200 do loop() end
            answer {open = open, closed = ledger.events}
        ]])
        assert.is_true(seen.open >= 2)
        assert.equal(seen.open, seen.closed)
    end)

    it("has nothing to tell where the JIT is off", function()
        local r = child.answer("local _, report = require('opened')()\n"
            .. "local s = 0 for i = 1, 2000 do s = s + i end report()",
            { jit = false, files = { ["opened.lua"] = OPENED } })
        assert.same({}, r.traces)
        assert.equal(0, r.mcode_bytes)
    end)

    it("takes no code of the harness for the case's own", function()
        local r = bench.case "function(_, i) return i * 3 end"
        local own = {}
        for _, trace in ipairs(r:one("jit").traces) do
            own[#own + 1] = trace.own and trace or nil
            if trace.stage == "empty" or trace.stage == "memory" then
                assert.is_false(trace.own or false)
            end
        end
        assert.is_true(#own >= 1)
        for _, trace in ipairs(own) do
            assert.is_true(trace.file == "bench.lua" or trace.file == "moonlap loop", trace.file)
        end
    end)

    it("leaves modules of this library out that the case uses", function()
        local r = ledger_of [[
            local histogram = require("moonlap.histogram")
            local h, all = histogram.new(), histogram.new()
            for i = 1, 3000 do h:record(i * 100) end
            for i = 1, 300 do
                all:merge(h)
                for low, high, count in h:buckets() do all:record_many(low, count) end
                h:percentile(i % 100)
                h:encode()
            end]]
        local theirs, ours = 0, 0
        for _, trace in ipairs(r.traces) do
            local is_ours = trace.file ~= "user.lua"
            ours, theirs = ours + (is_ours and 1 or 0), theirs + (trace.own and 1 or 0)
            assert.is_false(is_ours and trace.own, trace.file)
        end
        assert.is_true(ours > 0 and theirs > 0) -- there were both
        for _, place in ipairs(r.aborts) do
            assert.equal("user.lua", place.file)
        end
        for _, place in ipairs(r.blacklisted) do
            assert.equal("user.lua", place.file)
        end
    end)

    it("takes a user's file in a folder called moonlap for the case's own", function()
        local source = "require('moonlap').bench('case', function(_, i)\n"
            .. "local s = 0 for k = 1, 300 do s = s + k end return s end)"
        local r = bench.run("", { file = "moonlap/user.lua" },
            { files = { ["moonlap/user.lua"] = source } })
        local trace = one(r:one("jit").traces, function(t)
            return t.file == "moonlap/user.lua" and t.line == 2 and t.link == "loop"
        end)
        assert.is_true(trace.own)
    end)
end)

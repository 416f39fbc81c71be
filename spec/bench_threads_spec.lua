local threads = require "moonlap.bench.threads"

local yield = coroutine.yield

describe("threads in turns", function()
    it("lets each go on at its turn, until all have ended", function()
        local seen = {}
        local function body(name, turns)
            return function()
                for i = 1, turns do
                    seen[#seen + 1] = name .. i
                    yield()
                end
            end
        end
        threads.run(false, { body("a", 3), body("b", 1), body("c", 2) })
        assert.same({ "a1", "b1", "c1", "a2", "c2", "a3" }, seen)
    end)

    it("tells whether a function yields", function()
        assert.is_false(threads.yields(false, function() end))
        assert.is_true(threads.yields(false, yield))
        assert.is_true(threads.yields(false, function() threads.pause(false, 0) end))
    end)

    it("runs the function once, to its end", function()
        local calls, ended = 0, 0
        threads.yields(false, function()
            calls = calls + 1
            for _ = 1, 5 do yield() end
            ended = ended + 1
        end)
        assert.same({ 1, 1 }, { calls, ended })
    end)

    local function breaking()
        yield()
        error "broken"
    end

    for name, call in pairs {
        run = function(handler) threads.run(false, { yield, breaking }, handler) end,
        yields = function(handler) threads.yields(false, breaking, handler) end,
    } do
        it(name .. " hands on an error with the thread's own traceback", function()
            local ok, err = pcall(call)
            assert.is_false(ok)
            assert.matches("bench_threads_spec.lua:%d+: broken", err)
            assert.matches("stack traceback:.*'error'.*bench_threads_spec.lua:%d+", err)
        end)

        it(name .. " calls the handler where the error was thrown", function()
            local place
            local ok, err = pcall(call, function(text)
                for level = 2, 10 do
                    local info = debug.getinfo(level, "f")
                    place = place or info and info.func == breaking
                end
                return { caught = text }
            end)
            assert.is_false(ok)
            assert.matches("broken$", err.caught)
            assert.is_true(place)
        end)
    end
end)

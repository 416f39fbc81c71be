local counter = require "moonlap.bench.counter"

local SOFTWARE, TASK_CLOCK = 1, 1 -- the kernel counts it itself: ns on a CPU

describe("counter", function()
    it("counts what lies between start and stop, by call", function()
        local c, err = counter.open(SOFTWARE, TASK_CLOCK)
        if not c then
            return pending(err)
        end
        assert.is_nil(c:per_call())
        local spent = 0
        for _ = 1, 3 do
            c:start()
            local from = os.clock()
            repeat until os.clock() - from >= 0.01
            spent = spent + os.clock() - from
            c:stop(10)
            local idle = os.clock()
            repeat until os.clock() - idle >= 0.05 -- counts for nothing
        end
        local ns = c:per_call() * 30
        assert.is_true(ns >= 0.9e9 * spent and ns <= 2e9 * spent, ns .. " of " .. spent)
        c:close()
    end)

    it("allocates nothing while it counts", function()
        local c, err = counter.open(SOFTWARE, TASK_CLOCK)
        if not c then
            return pending(err)
        end
        jit.off()
        c:start()
        c:stop(1)
        collectgarbage()
        collectgarbage("stop")
        local before = collectgarbage("count")
        for _ = 1, 100 do
            c:start()
            c:stop(1)
        end
        local after = collectgarbage("count")
        collectgarbage("restart")
        jit.on()
        c:close()
        assert.is_true(after - before < 0.1, after - before)
    end)

    it("has nothing to say of batches that it missed", function()
        local c, err = counter.open(SOFTWARE, TASK_CLOCK)
        if not c then
            return pending(err)
        end
        c:start()
        c:stop(1)
        assert.is_number(c:per_call())
        c:close()
        c:start()
        c:stop(1)
        assert.is_nil(c:per_call())
    end)

    it("says why there is none", function()
        local c, err = counter.open(99, 1)
        assert.is_nil(c)
        assert.is_true(err:find("no counter", 1, true) ~= nil, err)
    end)
end)

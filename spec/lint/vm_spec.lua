local vm = require "moonlap.lint.vm"

describe("moonlap.lint.vm", function()
    local OUTCOMES = {
        compiled = true, stitched = true, aborted = true, interpreted = true, arguments = true,
    }

    it("asks the VM of each built-in function, once", function()
        local facts, count = vm.facts(), 0
        for name, outcome in pairs(facts) do
            assert.is_true(OUTCOMES[outcome], name)
            count = count + 1
        end
        assert.is_true(count > 90)
        assert.equal(facts, vm.facts())
    end)

    it("says what is known of every LuaJIT 2.1", function()
        local facts = vm.facts()
        for _, name in ipairs {"string.byte", "math.floor", "bit.band", "ffi.new", "select"} do
            assert.equal("compiled", facts[name], name)
        end
        assert.equal("stitched", facts["os.date"])
        assert.equal("arguments", facts["string.find"])
        assert.is_nil(facts["string.nothing"])
    end)

    it("leaves the compiler as it was", function()
        vm.facts()
        local function loop(n)
            local sum = 0
            for i = 1, n do
                sum = sum + i
            end
            return sum
        end
        local traces = 0
        local function event(what)
            traces = traces + (what == "stop" and 1 or 0)
        end
        jit.attach(event, "trace")
        loop(20)
        local early = traces
        loop(1000)
        jit.attach(event)
        assert.equal(0, early)
        assert.is_true(traces > 0)
    end)
end)

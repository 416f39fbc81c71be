local child = require "spec.support.child"

describe("moonlap", function()
    it("has bench and keep, and a version", function()
        local moonlap = require "moonlap"
        assert.equal(require("moonlap.bench.registry").bench, moonlap.bench)
        assert.equal(require "moonlap.keep", moonlap.keep)
        assert.matches("^%d+%.%d+%.%d+$", moonlap._VERSION)
    end)

    it("knows nothing by another name", function()
        local moonlap = require "moonlap"
        assert.is_nil(moonlap.hystogram)
        assert.is_nil(moonlap[1])
        assert.is_nil(moonlap["bench.process"])
    end)

    it("loads a submodule when it is first used", function()
        local seen = child.answer [[
            local moonlap = require "moonlap"
            local seen = {}
            for _, name in ipairs {"clock", "histogram"} do
                local before = package.loaded["moonlap." .. name] ~= nil
                local module = moonlap[name]
                seen[name] = {
                    before = before,
                    same = module == package.loaded["moonlap." .. name],
                    kept = rawget(moonlap, name) == module,
                }
            end
            answer(seen)
        ]]
        local expected = { before = false, same = true, kept = true }
        assert.same({ clock = expected, histogram = expected }, seen)
    end)

    it("leaves no global behind", function()
        local seen = child.answer [[
            local before, new = {}, {}
            for name in pairs(_G) do before[name] = true end
            local moonlap = require "moonlap"
            local _ = moonlap.clock, moonlap.histogram, require "moonlap.bench.process"
            for name in pairs(_G) do
                if not before[name] then new[#new + 1] = name end
            end
            answer {new = table.concat(new, " ")}
        ]]
        assert.equal("", seen.new)
    end)
end)

describe("keep", function()
    it("hands back what it was given", function()
        local keep = require "moonlap.keep"
        local t = {}
        assert.equal(t, keep(t))
        assert.is_nil(keep(nil))
        assert.is_false(keep(false))
    end)

    it("makes the JIT allocate what it would sink", function()
        local bytes = child.answer [[
            local keep = require "moonlap.keep"
            local function dropped(n) for i = 1, n do local t = {i, i} end end
            local function kept(n) for i = 1, n do keep({i, i}) end end
            local function bytes_per_call(f)
                f(1e4)
                collectgarbage() collectgarbage("stop")
                local before = collectgarbage("count")
                f(1e4)
                local bytes = (collectgarbage("count") - before) * 1024 / 1e4
                collectgarbage("restart")
                return bytes
            end
            answer {dropped = bytes_per_call(dropped), kept = bytes_per_call(kept)}
        ]]
        assert.is_true(bytes.dropped < 1, bytes.dropped)
        assert.is_true(bytes.kept > 32, bytes.kept)
    end)
end)

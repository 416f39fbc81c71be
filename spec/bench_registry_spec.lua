local bench = require "spec.support.bench"
local registry = require "moonlap.bench.registry"

local HERE = "spec/bench_registry_spec.lua"

local function run() end

local function names()
    local list = {}
    for i, case in ipairs(registry.cases()) do
        list[i] = case.name
    end
    return list
end

-- Calls bench on this line, as a bench file does.
local function declare(...)
    local line = debug.getinfo(1, "l").currentline + 1
    registry.bench(...)
    return line
end

describe("registry", function()
    before_each(registry.reset)
    teardown(registry.reset)

    it("takes a name and a function", function()
        local line = declare("concat", run)
        local cases = registry.cases()
        assert.equal(1, #cases)
        local case = cases[1]
        assert.equal("concat", case.name)
        assert.equal("concat", case.benchmark)
        assert.same({}, case.params)
        assert.equal(0, case.index)
        assert.equal(run, case.spec.run)
        assert.matches(HERE .. "$", case.file)
        assert.equal(line, case.line)
    end)

    it("takes a table", function()
        local spec = {
            name = "all", run = run, setup = run, check = run, teardown = run,
            params = { n = { 1 } }, tags = { "fast" }, concurrency = 4, rate = 100,
        }
        declare(spec)
        local case = registry.cases()[1]
        assert.equal("all/n=1", case.name)
        assert.equal(spec, case.spec)
        assert.same({ n = 1 }, case.params)
    end)

    it("makes a case of each combination, the last parameter turning fastest", function()
        declare { name = "b", run = run, params = { size = { 10, 2 }, kind = { "x", true } } }
        declare("c", run)
        assert.same({
            "b/kind=x/size=10", "b/kind=x/size=2", "b/kind=true/size=10", "b/kind=true/size=2", "c",
        }, names())
        for i, case in ipairs(registry.cases()) do
            assert.equal(i - 1, case.index)
        end
    end)

    it("gives each case parameters of its own", function()
        declare { name = "b", run = run, params = { n = { 1, 2 } } }
        registry.cases()[1].params.n = 99
        assert.equal(1, registry.cases()[1].params.n)
        assert.equal(2, registry.cases()[2].params.n)
    end)

    it("forgets all declarations", function()
        declare("a", run)
        registry.reset()
        assert.same({}, names())
        declare("a", run)
        assert.same({ "a" }, names())
    end)

    describe("refuses", function()
        for name, case in pairs {
            ["a field it doesn't know"] = {
                { name = "a", run = run, setUp = run },
                "no field 'setUp'; the fields are name, params",
            },
            ["a field of the wrong type"] = {
                { name = "a", run = run, setup = "x" }, "setup is a function, not a string",
            },
            ["no name"] = { { run = run }, "a name is missing" },
            ["an empty name"] = { { name = "", run = run }, "a name is missing" },
            ["no run"] = { { name = "a" }, "'a': run, the function to time, is missing" },
            ["parameters by number"] = {
                { name = "a", run = run, params = { 1, 2 } }, "a parameter's name is a string",
            },
            ["a parameter without a list"] = {
                { name = "a", run = run, params = { n = 3 } },
                "params.n: a list of values expected",
            },
            ["a parameter with an empty list"] = {
                { name = "a", run = run, params = { n = {} } },
                "params.n: a list of values expected",
            },
            ["a parameter's value that has no name"] = {
                { name = "a", run = run, params = { n = { {} } } },
                "a value is a string, number or boolean, not a table",
            },
            ["neither name nor table"] = { 42, "a name and a function, or a table, expected" },
        } do
            it(name .. ", with the caller's line", function()
                local line = debug.getinfo(1, "l").currentline + 1
                local ok, err = pcall(function() registry.bench(case[1]) end)
                assert.is_false(ok)
                assert.is_truthy(err:find(HERE .. ":" .. line .. ": ", 1, true), err)
                assert.is_truthy(err:find(case[2], 1, true), err)
                assert.same({}, names())
            end)
        end

        it("a name without a function, with the caller's line", function()
            local line = debug.getinfo(1, "l").currentline + 1
            local ok, err = pcall(function() registry.bench("a", "b") end)
            assert.is_false(ok)
            assert.is_truthy(err:find(HERE .. ":" .. line .. ": ", 1, true), err)
            assert.is_truthy(err:find("run is a function, not a string", 1, true), err)
        end)

        it("a name that is taken, and names both places", function()
            local first = declare("twice", run)
            local line = debug.getinfo(1, "l").currentline + 1
            local ok, err = pcall(function() registry.bench("twice", run) end)
            assert.is_false(ok)
            assert.is_truthy(err:find(HERE .. ":" .. line .. ": ", 1, true), err)
            assert.is_truthy(err:find("'twice' is taken by ", 1, true), err)
            assert.is_truthy(err:find(HERE .. ":" .. first .. ";", 1, true), err)
            assert.same({ "twice" }, names())
        end)
    end)

    it("knows the user's place also in a folder called moonlap", function()
        local source = "\n\nrequire('moonlap').bench('case', function() end)\n"
        local r = bench.run("", { mode = "list", file = "moonlap/bench/user.lua" },
            { files = { ["moonlap/bench/user.lua"] = source } })
        local case = r:one "case"
        assert.equal("moonlap/bench/user.lua", case.file)
        assert.equal(3, case.line)
    end)

    it("knows the place through a helper of the library's caller", function()
        local helper = "return function(name)\n  require('moonlap').bench(name, print)\nend\n"
        local r = bench.run("require('helper')('case')", { mode = "list" },
            { files = { ["helper.lua"] = helper } })
        assert.equal(2, r:one("case").line)
        assert.matches("helper.lua$", r:one("case").file)
    end)
end)

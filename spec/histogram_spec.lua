local cjson = require "cjson"
local child = require "spec.support.child"
local histogram = require "moonlap.histogram"

local function vectors(name)
    local file = assert(io.open("vectors/histogram/" .. name))
    local text = file:read "*a"
    file:close()
    return cjson.decode(text)
end

local function figures(h, percentiles)
    local list = {}
    for i, pair in ipairs(percentiles) do
        list[i] = { pair[1], h:percentile(pair[1]) }
    end
    return { Count = h:count(), Min = h:min(), Max = h:max(), Mean = h:mean(), Percentiles = list }
end

local function assert_figures(expected, h)
    local got = figures(h, expected.Percentiles)
    -- The mean sums as doubles here and as integers in Go.
    assert.is_true(math.abs(got.Mean - expected.Mean) <= 1e-12 * math.abs(expected.Mean))
    got.Mean = expected.Mean
    assert.same(expected, got)
end

-- The values straddle the linear and the logarithmic buckets, and both ends of the range.
local COMPILED = [[
    local bit, ffi, util, vmdef = require "bit", require "ffi", require "jit.util",
        require "jit.vmdef"
    local histogram = require "moonlap.histogram"
    local values = ffi.new("double[256]")
    for i = 0, 255 do
        values[i] = i % 7 == 0 and -i or i % 11 == 0 and 1e15 or (i * i * 37) % 10007
    end
    local h = histogram.new()
    local traces = {}
    local function on_trace(what, trace)
        if what == "stop" then
            traces[#traces + 1] = trace
        end
    end
    jit.attach(on_trace, "trace")
    for i = 1, 1e6 do
        h:record(values[bit.band(i, 255)])
    end
    jit.attach(on_trace)
    local loop, allocations = false, 0
    for i = 1, util.traceinfo(traces[1]).nins do
        local _, ot = util.traceir(traces[1], i)
        local at = 6 * bit.rshift(ot, 8) + 1
        local name = vmdef.irnames:sub(at, at + 5):gsub(" ", "")
        loop = loop or name == "LOOP"
        if name == "CNEW" or name == "CNEWI" or name == "TNEW" or name:find "^CALL" then
            allocations = allocations + 1
        end
    end
    print(("traces %d, loop %s, allocations %d"):format(#traces, tostring(loop), allocations))
]]

describe("histogram", function()
    for _, vector in ipairs(vectors "record.json") do
        it("records, draws figures and encodes as Go does: " .. vector.Name, function()
            local h = histogram.new {
                lowest = vector.Lowest, highest = vector.Highest, digits = vector.Digits,
            }
            for _, run in ipairs(vector.Values ~= cjson.null and vector.Values or {}) do
                for i = 0, run[3] - 1 do
                    for _ = 1, run[4] do
                        h:record(run[1] + i * run[2])
                    end
                end
            end
            assert_figures(vector.Figures, h)
            assert.equal(vector.Encoding, h:encode())
            assert.equal(vector.Encoding, assert(histogram.decode(vector.Encoding)):encode())
        end)
    end

    for _, vector in ipairs(vectors "decode.json") do
        it("decodes as Go does: " .. vector.Name, function()
            local h, err = histogram.decode(vector.Encoding)
            if vector.Invalid then
                assert.is_nil(h)
                assert.matches("^histogram encoding: ", err)
            else
                assert_figures(vector.Figures, assert(h, err))
            end
        end)
    end

    it("rounds to the nearest nanosecond, keeps the mean exact", function()
        local h = histogram.new()
        for _, v in ipairs { 0.4, 0.6, 2.6, 2047.4, 2047.5 } do
            h:record(v)
        end
        local seen = {}
        for low, high, count in h:buckets() do
            seen[#seen + 1] = { low, high, count }
        end
        assert.same({ { 0, 1, 1 }, { 1, 2, 1 }, { 3, 4, 1 }, { 2047, 2048, 1 }, { 2048, 2050, 1 } },
            seen)
        assert.near((0.4 + 0.6 + 2.6 + 2047.4 + 2047.5) / 5, h:mean(), 1e-9)
    end)

    it("is empty at first and after a reset", function()
        local h = histogram.new()
        local empty = h:encode()
        for _ = 1, 2 do
            assert.same({ 0, 0, 0, 0, 0 },
                { h:count(), h:min(), h:max(), h:mean(), h:percentile(50) })
            assert.equal(empty, h:encode())
            h:record(5)
            h:reset()
        end
    end)

    it("merges into what recording both would give", function()
        local a, b, both = histogram.new(), histogram.new(), histogram.new()
        for i = 1, 1000 do
            a:record(i * 7)
            both:record(i * 7)
            b:record(i * i)
            both:record(i * i)
        end
        assert.is_true(a:merge(b))
        assert.equal(both:encode(), a:encode())
        assert.same({ both:count(), both:min(), both:max(), both:mean() },
            { a:count(), a:min(), a:max(), a:mean() })
        local ok, err = a:merge(histogram.new { digits = 2 })
        assert.is_nil(ok)
        assert.matches("cannot be merged", err)
    end)

    it("records one value many times as it would one by one", function()
        local many, single = histogram.new(), histogram.new()
        for i, ns in ipairs { 0, 1, 63.4, 2047, 2048, 1e6, 3.6e12, 1e15 } do
            many:record_many(ns, i * 3)
            for _ = 1, i * 3 do
                single:record(ns)
            end
        end
        many:record_many(5, 0)
        assert.equal(single:encode(), many:encode())
        assert.equal(single:count(), many:count())
        assert.equal(single:max(), many:max())
    end)

    it("clamps what is out of range, compiled and interpreted alike", function()
        local function fill(h)
            for _ = 1, 100 do
                for _, v in ipairs { -math.huge, -1e300, -5, 1e13, 1e300, math.huge } do
                    h:record(v)
                end
            end
            return h:encode()
        end
        local compiled = fill(histogram.new())
        jit.off()
        jit.flush()
        local interpreted = fill(histogram.new())
        jit.on()
        assert.equal(interpreted, compiled)
        local counts = {}
        for _, _, count in histogram.decode(compiled):buckets() do
            counts[#counts + 1] = count
        end
        assert.same({ 300, 300 }, counts)
    end)

    it("records in a compiled loop without allocating or leaving it", function()
        -- In a fresh LuaJIT: busted's own code would be traced along. Which path is traced first is
        -- chance, and in a process now and then it is a side path's; what allocates always does.
        child.with_folder(function(folder)
            child.write(folder .. "/loop.lua", COMPILED)
            local all = {}
            for try = 1, 5 do
                local said = child.start(folder, { args = { "loop.lua" } })
                assert.equal("", said.stderr)
                all[try] = said.stdout
                if said.stdout == "traces 1, loop true, allocations 0\n" then return end
            end
            error("in none of 5 processes:\n" .. table.concat(all))
        end)
    end)

    it("reads stored encodings without libz, and says what compressed ones need", function()
        local compressed = "HISTFAAAACB4nJNpmSzMwMDAzAABMJoRQnEw2H+AsP7LMwEARZgDpQ=="
        assert.equal(1, histogram.decode(compressed):count())
        child.with_folder(function(folder)
            child.write(folder .. "/decode.lua", ([[
                require("ffi").load = function() error "no such library" end
                local histogram = require "moonlap.histogram"
                print(histogram.decode(histogram.new():encode()):count())
                print(histogram.decode "%s")
            ]]):format(compressed))
            local said = child.start(folder, { args = { "decode.lua" } })
            assert.equal("", said.stderr)
            assert.equal("0\nnil\thistogram encoding: the zlib stream is compressed and libz is "
                .. "not on this machine\n", said.stdout)
        end)
    end)

    it("refuses misuse at the caller's line", function()
        local h = histogram.new()
        for text, misuse in pairs {
            ["not a number"] = function() h:record(0 / 0) end,
            ["value is not a number"] = function() h:record(nil) end,
            ["the value is not a number"] = function() h:record("5") end,
            ["between 0 and 100"] = function() h:percentile(101) end,
            ["use fewer digits"] = function() histogram.new { digits = 5 } end,
            ["integer from 0 to 5"] = function() histogram.new { digits = 2.5 } end,
            ["1 <= lowest"] = function() histogram.new { lowest = 0 } end,
            ["is a string"] = function() histogram.decode(nil) end,
        } do
            local ok, err = pcall(misuse)
            assert.is_false(ok)
            assert.matches("histogram_spec.lua:%d+: moonlap.histogram: .*" .. text, err)
        end
        assert.is_false(histogram.is {})
        assert.is_true(histogram.is(h))
    end)

    it("survives truncations and flipped bits", function()
        local base64 = require "moonlap.histogram.base64"
        local seeds = {}
        for _, vector in ipairs(vectors "record.json") do
            if #vector.Encoding < 1000 then
                seeds[#seeds + 1] = vector.Encoding
            end
        end
        for _, vector in ipairs(vectors "decode.json") do
            if not vector.Invalid and #vector.Encoding < 1000 then
                seeds[#seeds + 1] = vector.Encoding
            end
        end
        local accepted, refused = 0, 0
        local function try(text)
            local h, err = histogram.decode(text)
            if h then
                accepted = accepted + 1
                assert.equal(h:encode(), histogram.decode(h:encode()):encode())
            else
                refused = refused + 1
                assert.is_string(err)
            end
        end
        for _, seed in ipairs(seeds) do
            local raw = base64.decode(seed)
            for n = 0, #raw - 1 do
                try(base64.encode(raw:sub(1, n)))
                try(seed:sub(1, math.min(n, #seed)))
                for b = 0, 7 do
                    local flipped = bit.bxor(raw:byte(n + 1), 2 ^ b)
                    try(base64.encode(raw:sub(1, n) .. string.char(flipped) .. raw:sub(n + 2)))
                end
            end
        end
        -- Only the prefix's and header's cookies have bits without a meaning.
        assert.is_true(refused > 50 * accepted)
    end)

    it("survives flipped bits behind the checksum, in bounded memory", function()
        local base64, zlib = require "moonlap.histogram.base64", require "moonlap.histogram.zlib"
        local accepted, refused = 0, 0
        for _, vector in ipairs(vectors "record.json") do
            local raw = base64.decode(vector.Encoding)
            local data = zlib.read(raw:sub(9), 2 ^ 20)
            for n = 0, math.min(#data, 120) - 1 do
                for b = 0, 7 do
                    local flipped = bit.bxor(data:byte(n + 1), 2 ^ b)
                    local stream = zlib.store(data:sub(1, n) .. string.char(flipped)
                        .. data:sub(n + 2))
                    local size = ("\0\0%c%c"):format(math.floor(#stream / 256), #stream % 256)
                    local h, err
                    if #stream < 65536 then
                        h, err = histogram.decode(base64.encode(raw:sub(1, 4) .. size .. stream))
                        assert.is_true(h ~= nil or type(err) == "string")
                    end
                    if h then
                        accepted = accepted + 1
                        assert.is_true(require "ffi".sizeof(h) <= 2 ^ 23 + 200)
                    else
                        refused = refused + 1
                    end
                    collectgarbage()
                end
            end
        end
        assert.is_true(accepted > 100 and refused > 100)
    end)
end)

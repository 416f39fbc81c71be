local cjson = require "cjson"
local json = require "moonlap.json"

local REPLACEMENT = "\239\191\189"

describe("json", function()
    it("escapes what a JSON string can't hold", function()
        assert.equal([["a\"b\\c"]], json.encode 'a"b\\c')
        assert.equal([["\b\f\n\r\t"]], json.encode "\b\f\n\r\t")
        assert.equal([["\u0000\u0001\u001f\u007f"]], json.encode "\0\1\31\127")
        assert.equal('"/ é ☾ 🌙"', json.encode "/ é ☾ 🌙")
    end)

    it("keeps every ASCII byte", function()
        local bytes = {}
        for i = 0, 127 do
            bytes[#bytes + 1] = string.char(i)
        end
        local text = table.concat(bytes)
        assert.equal(text, cjson.decode("[" .. json.encode(text) .. "]")[1])
    end)

    for name, case in pairs {
        ["a stray continuation byte"] = { "a\128b", "a" .. REPLACEMENT .. "b" },
        ["bytes that begin nothing"] = { "\255\254\192", REPLACEMENT:rep(3) },
        ["a sequence cut off"] = { "x\226\152", "x" .. REPLACEMENT:rep(2) },
        ["an overlong form"] = { "\224\128\175", REPLACEMENT:rep(3) },
        ["an overlong form of four bytes"] = { "\240\143\191\191", REPLACEMENT:rep(4) },
        ["a surrogate"] = { "\237\160\128", REPLACEMENT:rep(3) },
        ["beyond U+10FFFF"] = { "\244\144\128\128", REPLACEMENT:rep(4) },
        ["the last of each length"] = {
            "\223\191\239\191\191\244\143\191\191", "\223\191\239\191\191\244\143\191\191",
        },
        ["the neighbours of the surrogates"] = {
            "\237\159\191\238\128\128", "\237\159\191\238\128\128",
        },
    } do
        it("replaces what is not UTF-8: " .. name, function()
            assert.equal('"' .. case[2] .. '"', json.encode(case[1]))
        end)
    end

    it("writes whole numbers without exponent or fraction", function()
        assert.equal("0", json.encode(0))
        assert.equal("-17", json.encode(-17))
        assert.equal("9007199254740991", json.encode(2 ^ 53 - 1))
        assert.equal("1000000000000", json.encode(1e12))
    end)

    it("writes fractions to nine digits", function()
        assert.equal("0.1", json.encode(0.1))
        assert.equal("123456.789", json.encode(123456.789))
        assert.equal("0.333333333", json.encode(1 / 3))
        assert.equal("1.15292150e+18", ("%.8e"):format(json.encode(2 ^ 60)))
    end)

    it("writes what JSON has no number for as null", function()
        assert.equal("[null,null,null]", json.encode { 0 / 0, 1 / 0, -1 / 0 })
    end)

    it("tells arrays from objects", function()
        assert.equal("[1,2]", json.encode { 1, 2 })
        assert.equal('{"a":1,"b":[]}', json.encode { b = json.array {}, a = 1 })
        assert.equal("{}", json.encode {})
        assert.equal("[]", json.encode(json.array {}))
        assert.equal('[[],{}]', json.encode { json.array {}, {} })
        assert.equal("null", json.encode(nil))
        assert.equal("[true,false]", json.encode { true, false })
    end)

    it("marks the very table as an array", function()
        local t = {}
        assert.equal(t, json.array(t))
    end)

    it("sorts an object's keys", function()
        assert.equal('{"a":1,"b":2,"c":3,"d":4}', json.encode { d = 4, b = 2, a = 1, c = 3 })
    end)

    it("refuses what is no data", function()
        assert.has_error(function() json.encode(print) end, "cannot encode a function as JSON")
        assert.has_error(function() json.encode { a = { coroutine.create(print) } } end,
            "cannot encode a thread as JSON")
    end)

    describe("against a decoder", function()
        local random = math.random

        local function random_string()
            local bytes = {}
            for i = 1, random(0, 12) do
                bytes[i] = string.char(random(0, 127))
            end
            return table.concat(bytes)
        end

        local function random_value(depth)
            local kind = random(depth > 0 and 6 or 4)
            if kind == 1 then
                return random_string()
            elseif kind == 2 then
                return random(-2 ^ 31, 2 ^ 31 - 1)
            elseif kind == 3 then
                return random() < 0.5
            elseif kind == 4 then
                return random(-2 ^ 18, 2 ^ 18) / 16 -- nine digits hold it
            end
            local t = {}
            for i = 1, random(1, 5) do
                t[kind == 5 and i or "k" .. random_string()] = random_value(depth - 1)
            end
            return t
        end

        for seed = 1, 20 do
            it("comes back the same, on one line: seed " .. seed, function()
                math.randomseed(seed)
                for _ = 1, 25 do
                    local value = { random_value(4) }
                    local text = json.encode(value)
                    assert.is_nil(text:find "\n")
                    assert.same(value, cjson.decode(text))
                end
            end)
        end
    end)
end)

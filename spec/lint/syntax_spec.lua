local syntax = require "moonlap.lint.syntax"

local function refusal(text)
    local source, err = syntax.parse(text)
    assert.is_nil(source)
    return err.line .. ":" .. err.column .. ": " .. err.message
end

describe("moonlap.lint.syntax", function()
    it("takes what LuaJIT takes", function()
        for _, text in ipairs {
            "", "return 1", "#!/usr/bin/luajit\nreturn 1", "# a comment\nreturn 1", "#\nreturn 1",
            "\239\187\191return 1", "local x = 1ULL, 2LL, 0x1p4, 3i", "x = 'a\\z\n  b\\x41\\u{41}'",
            "goto done ::done::", "local \195\169t\195\169 = 1 return \195\169t\195\169",
            "x = [[\r\n]]\r\ny = 1", "x = '\255\254'", "for i = 1, 2 do break end", "-- \255",
        } do
            local source, err = syntax.parse(text)
            assert.is_table(source, text .. " " .. tostring(err and err.message))
        end
    end)

    it("refuses what LuaJIT refuses, with line and column", function()
        assert.equal("2:1: unexpected symbol near '='", refusal "a =\n= 3")
        assert.equal("1:8: '<name>' expected near '<'", refusal "local  <const> = 1")
        assert.equal("1:10: unexpected symbol near '/'", refusal "return 1 // 2")
        assert.equal("1:9: unexpected symbol near '<'", refusal "local x <const> = 1")
        assert.equal("1:1: compiled Lua: there is no source to read",
            refusal(string.dump(function() end)))
    end)

    it("says so where LuaJIT takes what it cannot read itself", function()
        assert.matches("^2:%d+: LuaJIT takes this, but moonlap cannot read it", refusal "\nx = 0b1")
    end)

    it("counts offsets in bytes", function()
        local text = "local \195\169 = '\226\130\172' foo(\195\169)"
        local source = assert(syntax.parse(text))
        local call = source.tree[2]
        assert.equal("foo(\195\169)", text:sub(call.offset, call.end_offset))
        assert.equal("\226\130\172", source.tree[1][2][1][1])
    end)

    it("ends on whatever it is given", function()
        math.randomseed(42)
        local pieces = {
            "local ", "x", "=", "{", "}", "(", ")", "function", " end ", "[[", "]]", "--", "\n",
            "'", '"', "\\", "1", "..", ":", "\195", "\0", "goto ", "::", "return ", " do ", "#",
            "if ", " then ", "0x", "\239\187\191", "\r", "[=", "not ", ";",
        }
        for _ = 1, 20000 do
            local text = {}
            for i = 1, math.random(12) do
                text[i] = pieces[math.random(#pieces)]
            end
            text = table.concat(text)
            local source, err = syntax.parse(text)
            assert.equal(source ~= nil, err == nil)
            if source then
                assert.is_truthy(loadstring((source.text)))
            else
                assert.is_true(err.line >= 1 and err.column >= 1, text)
            end
        end
    end)
end)

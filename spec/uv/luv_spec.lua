local child = require "spec.support.child"
local support = require "spec.support.uv"

-- Debian's lua-luv, which this library's API is measured by.
local WANTED = "1.44.2"

local function answers(module, folder)
    local cases = child.read "spec/support/uv_cases.lua"
    child.write(folder .. "/work/.keep", "")
    os.remove(folder .. "/work/.keep")
    child.write(folder .. "/cases.lua", cases)
    local done = child.start(folder, { args = { "cases.lua", module, folder .. "/work" },
        prefix = "</dev/null" })
    assert.equal(0, done.status, done.stderr)
    return done.stdout
end

describe("moonlap.uv", support.with_uv(function()
    it("answers as luv does", function()
        local ours = child.with_folder(function(folder) return answers("moonlap.uv", folder) end)
        assert.is_true(select(2, ours:gsub("\n", "")) > 1000)

        local version = child.answer [[
            local ok, luv = pcall(require, "luv")
            answer(ok and luv.version_string() or "none")
        ]]
        if version ~= WANTED then
            return pending("luv " .. WANTED .. " is wanted to compare with, here is " .. version
                .. ": apt-get install lua-luv on Debian 12")
        end
        local protocols = io.open "/etc/protocols"
        if not protocols then -- luv does not know the words for them then
            return pending "there is no /etc/protocols: apt-get install netbase"
        end
        protocols:close()
        local theirs
        for _ = 1, 3 do -- both tell of the machine, too, which may change between them
            theirs = child.with_folder(function(folder) return answers("luv", folder) end)
            if ours == theirs then break end
            ours = child.with_folder(function(folder) return answers("moonlap.uv", folder) end)
        end
        local lines = {}
        for line in theirs:gmatch "[^\n]+" do
            lines[#lines + 1] = line
        end
        local count = 0
        for line in ours:gmatch "[^\n]+" do
            count = count + 1
            assert.equal(lines[count], line)
        end
        assert.equal(#lines, count)
    end)
end))

local child = require "spec.support.child"
local support = require "spec.support.uv"

-- Debian's lua-luv, which this library's API is measured by: 1.44 has `available_parallelism`, 1.45
-- has `metrics_info`. `version_string` is libuv's, which may be another.
local PROBE = [[
    local ok, luv = pcall(require, "luv")
    answer(not ok and "none" or luv.metrics_info and "newer"
        or luv.available_parallelism and "1.44" or "older")
]]

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

describe("moonlap.uv", support.with_uv(function(uv)
    it("answers as luv does", function()
        local ours = child.with_folder(function(folder) return answers("moonlap.uv", folder) end)
        assert.is_true(select(2, ours:gsub("\n", "")) > 1000)

        local version = child.answer(PROBE)
        if version ~= "1.44" then
            return pending("luv 1.44 is wanted to compare with, here is " .. version
                .. ": apt-get install lua-luv on Debian 12")
        end
        if uv.version() >= 0x012d00 then
            return pending "the libuv at hand is newer than luv 1.44, and so is the API"
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

local child = require "spec.support.child"
local ends = require "spec.support.uv_ends"
local events = require "spec.support.uv_events"
local support = require "spec.support.uv"

-- Every kind of callback with every end, made by spec/support/uv_ends.lua: a thousand programs, of
-- which each run takes a few, and MOONLAP_TEST_LONG=1 all.
local ALL, ONE_OF = os.getenv "MOONLAP_TEST_LONG", 17

-- What a program has printed, the first line of what it says of its end, and its status.
local function outcome(module, kind, name)
    return child.with_folder(function(folder)
        child.write(folder .. "/user.lua", ends.program(module, kind, name))
        local done = child.start(folder, { args = { "user.lua" },
            prefix = "timeout -s KILL 20 0</dev/null " })
        local words = done.stderr:match "^[^\n]*":gsub("0x%x+", "0x")
        -- Whether the message handler still finds room is a matter of bytes.
        if words:find "stack overflow" or words:find "error in error handling" then
            words = "stack overflow"
        end
        return ("status %d: %s%s"):format(done.status, done.stdout, words)
    end)
end

describe("A callback of moonlap.uv", support.with_uv(function()
    it("ends as under luv", function()
        local has_luv = child.with_folder(function(folder)
            return child.start(folder, { args = { "-e", "require 'luv'" } }).status == 0
        end)
        if not has_luv then
            if os.getenv "MOONLAP_TEST_REQUIRE_ALL" then
                error "luv is missing: run script/bootstrap test (lua-luv)"
            end
            return pending "there is no luv to compare with: apt-get install lua-luv on Debian"
        end
        local kinds, names, at = {}, ends.names(), 0
        for kind in pairs(events.kinds) do
            kinds[#kinds + 1] = kind
        end
        table.sort(kinds)
        for _, kind in ipairs(kinds) do
            for _, name in ipairs(names) do
                at = at + 1
                if (ALL or at % ONE_OF == 0) and ends.is_comparable(kind, name) then
                    local wanted = outcome("luv", kind, name)
                    assert.equal(wanted, outcome("moonlap.uv", kind, name), kind .. ", " .. name)
                end
            end
        end
        assert.is_true(at > 900)
    end)
end))

local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("docs/reference/uv.md", function()
    it("is what script/uv_reference.lua makes of the comments", function()
        local pipe = assert(io.popen "luajit script/uv_reference.lua")
        local made = pipe:read "*a"
        pipe:close()
        assert.is_true(made == child.read "docs/reference/uv.md",
            "out of date: luajit script/uv_reference.lua >docs/reference/uv.md")
    end)
end)

describe("docs/reference/uv.md", support.with_uv(function(uv)
    it("names everything there is", function()
        local text = child.read "docs/reference/uv.md"
        for name, value in pairs(uv) do
            local heading = "`uv." .. name .. (type(value) == "table" and "`" or "(")
            assert.is_true(text:find(heading, 1, true) ~= nil, name .. " is not documented")
        end
    end)
end))

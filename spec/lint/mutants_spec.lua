local file = require "moonlap.lint.file"
local ignores = require "moonlap.lint.ignores"
local roles = require "moonlap.lint.roles"
local rules = require "moonlap.lint.rules"
local scopes = require "moonlap.lint.scopes"
local syntax = require "moonlap.lint.syntax"
local walk = require "moonlap.lint.walk"

local function read(path)
    local f = assert(io.open(path))
    local text = f:read "*a"
    f:close()
    return text
end

local function names_of_rules()
    local names = {}
    for name in read "docs/reference/rules.md":gmatch "\n## ([%w-]+)" do
        names[#names + 1] = name
    end
    return names
end

-- Programs to begin with: the cases of the rules.
local SOURCES = {"calls", "flow", "more"}

-- Words and single characters, with the blanks before them.
local function tokens(text)
    local list = {}
    for blank, word, other in text:gmatch "(%s*)([%w_]*)([^%w_%s]?)" do
        list[#list + 1] = blank .. word
        list[#list + 1] = other
    end
    return list
end

describe("rules", function()
    it("end on whatever parses, and every place lies in the text", function()
        math.randomseed(7)
        local loaded = {}
        for _, name in ipairs(names_of_rules()) do
            local path = "rules/" .. name .. "/rule.lua"
            loaded[#loaded + 1] = assert(rules.load(name, read(path), path))
        end
        assert.is_true(#loaded > 40)
        local ready = rules.prepare(loaded)
        local parsed, found = 0, 0
        for _, name in ipairs(SOURCES) do
            local pieces = tokens(read("internal/lint/testdata/cases/" .. name .. ".lua"))
            for _ = 1, 250 do
                local list = {unpack(pieces)}
                for _ = 1, math.random(3) do
                    local at, from = math.random(#list), math.random(#list)
                    local how = math.random(3)
                    list[at] = how == 1 and "" or how == 2 and list[from] or list[at] .. list[at]
                end
                local source = syntax.parse(table.concat(list))
                if source then
                    parsed = parsed + 1
                    local chunk = scopes.resolve(source.tree)
                    roles.note(chunk)
                    ignores.read(source, function() return true end)
                    local place = {id = 0, class = "request", requests = true}
                    walk.walk(file.new(place, source, ready, function(f)
                        found = found + 1
                        assert.is_true(f.line >= 1 and f.line <= #source.line_offsets, f.rule)
                        assert.is_true(f.column >= 1, f.rule)
                        for _, edit in ipairs(f.fix or {}) do
                            assert.is_true(edit.from >= 1 and edit.to <= #source.text, f.rule)
                        end
                    end), chunk)
                end
            end
        end
        assert.is_true(parsed > 100, parsed)
        assert.is_true(found > 1000, found)
    end)
end)

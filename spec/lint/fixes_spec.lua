-- Random programs, full of what --fix changes, print the same before and behind.
local file = require "moonlap.lint.file"
local roles = require "moonlap.lint.roles"
local rules = require "moonlap.lint.rules"
local scopes = require "moonlap.lint.scopes"
local syntax = require "moonlap.lint.syntax"
local walk = require "moonlap.lint.walk"

local random = math.random

local function one_of(list)
    return list[random(#list)]
end

-- Names are few, so that they shadow each other. Some are those that the fixes like to use.
local NUMBERS = {"a", "b", "x", "comes_first", "replacement"}
local CLASSES = {"c", "_M", "mt", "ctype"}

local HEAD = [[
local ffi, _M, list = require "ffi", {f = 7}, {3, 1, 2}
local a, b, x, comes_first, replacement = 1, 2, 3, 4, 5
local c, mt, ctype = {f = 1}, {f = 2}, {f = 3}
local given
local calls = {}
]]

local TAIL = [[
given = function(_, k) return k end
for i = 1, #calls do calls[i](i) end
]]

local COMPARE = {
    "function(p, q) return p < q end",
    "function(p, q) return (p + NUM) % 7 < (q + NUM) % 7 end",
    "function(p, q) -- why\n        local z = NUM\n        return p * z > q * z\n    end",
    "function(p, q) local x = 3 return p + x < q + x end",
    "function(...) local p, q = ... return p > q end",
}

local REPLACE = {
    "function(d) return '<' .. d .. '>' end",
    "function(d) return d .. NUM end",
    "function(d) NUM2 = NUM2 + 1 return d .. NUM2 end",
    "function(d)\n    local s = [[\n  long\n]]\n    return s .. d\nend",
}

local STATEMENTS = {
    "local NUM = NUM", "NUM = NUM + 1", "local CLASS = {f = NUM}", "CLASS = {f = NUM}",
    "table.sort(list, COMPARE) out(unpack(list))", "table.sort(list, COMPARE) out(unpack(list))",
    "out((string.gsub('a1b2', '%d', REPLACE)))", "out((string.gsub('a1b2', '%d', REPLACE)))",
    "out(setmetatable({}, {__index = CLASS}).f)", "out(setmetatable({}, {__index = CLASS}).f)",
    "out(setmetatable({}, {__index = given}).f)",
    "out(ffi.sizeof(ffi.typeof('int[?]'), NUM))", "out(NUM)",
    "local function g(q) return q + NUM end\nout(g(NUM))",
    "local h = function(q)\n    return (q * NUM) % 9\nend\nout(h(NUM), h(2))",
    "local k = function(q) NUM = NUM + q return q end\nout(k(1), NUM)",
    "local function m(q) return q > 9 and q or m(q + 5) end\nout(m(NUM))",
}

local OPENINGS = {
    "for i = 1, 2 do", "for _, list in ipairs {{3, 1, 2}, {5, 4}} do", "repeat",
    "local w = 0 while w < 2 do w = w + 1", "do", "if a then", "(function(x, ...)",
    "-- about it\nlocal function f(x)", "function _M.f(a)",
    "calls[#calls + 1] = function(b)",
}

local function close(opening)
    if opening == "repeat" then
        return one_of {"until true", "until a"}
    elseif opening:find "^%(" then
        return "end)(NUM)"
    elseif opening:find "function f" then
        return "end f(NUM) f(2)"
    elseif opening:find "_M.f" then
        return "end _M.f(NUM)"
    end
    return "end"
end

local function statements(lines, depth)
    local indent = ("    "):rep(depth)
    for _ = 1, random(2, 5) do
        if depth < 4 and random() < 0.4 then
            local opening = one_of(OPENINGS)
            lines[#lines + 1] = indent .. opening:gsub("\n", "\n" .. indent)
            statements(lines, depth + 1)
            lines[#lines + 1] = indent .. close(opening)
        else
            lines[#lines + 1] = indent .. one_of(STATEMENTS)
        end
    end
end

local WORDS = {
    COMPARE = COMPARE, REPLACE = REPLACE, NUM = NUMBERS, CLASS = CLASSES,
}

local function program()
    local lines = {}
    statements(lines, 0)
    local text = HEAD .. table.concat(lines, "\n") .. "\n" .. TAIL
    for _ = 1, 2 do -- the text put in place of a part may hold others
        local two = one_of(NUMBERS)
        text = text:gsub("NUM2", two):gsub("%u%u%u+", function(word)
            return WORDS[word] and one_of(WORDS[word])
        end)
    end
    return random() < 0.1 and text:gsub("\n", "\r\n") or text
end

local function load_rules(names)
    local loaded = {}
    for _, name in ipairs(names) do
        local f = assert(io.open("rules/" .. name .. "/rule.lua"))
        loaded[#loaded + 1] = assert(rules.load(name, f:read "*a", name))
        f:close()
    end
    return rules.prepare(loaded)
end

-- All fixes of a text, whatever class its code has.
local function fixes(text, ready)
    local source = assert(syntax.parse(text))
    local chunk = scopes.resolve(source.tree)
    roles.note(chunk)
    local found = {}
    walk.walk(file.new({id = 0, class = "request", requests = true}, source, ready, function(f)
        found[#found + 1] = f.fix
    end), chunk)
    return found
end

-- The text with a fix, of which the edits are in order.
local function fixed(text, fix)
    local parts, at = {}, 1
    for _, edit in ipairs(fix) do
        parts[#parts + 1] = text:sub(at, edit.from - 1) .. edit.text
        at = edit.to + 1
    end
    return table.concat(parts) .. text:sub(at)
end

-- What a program hands to out(), and the error that it ends with.
local function result(text)
    local out, steps = {}, 0
    local env = setmetatable({out = function(...)
        out[#out + 1] = table.concat({...}, ",")
        steps = steps + 1
        assert(steps < 500, "it goes on")
    end}, {__index = _G, __newindex = function() error("a global is set") end})
    local chunk, refused = load(text, "=program", "t", env)
    if not chunk then
        return nil, refused
    end
    local ok, err = pcall(chunk)
    out[#out + 1] = ok and "ok" or tostring(err):gsub("program:%d+: ", "")
    return table.concat(out, ";")
end

describe("--fix", function()
    it("keeps the meaning of random programs", function()
        math.randomseed(11)
        local ready = load_rules {"closure-in-loop", "fresh-metatable", "ffi-type-built"}
        local changed, ended = 0, 0
        for _ = 1, 600 do
            local text = program()
            local before = result(text)
            for _, fix in ipairs(before and fixes(text, ready) or {}) do
                local new = fixed(text, fix)
                local after, refused = result(new)
                if not refused then -- else the fix is left out
                    changed = changed + 1
                    ended = ended + (before:find "ok$" and 1 or 0)
                    assert.equal(before, after, text .. "\nbecame\n" .. new)
                end
            end
        end
        assert.is_true(changed > 500, changed)
        assert.is_true(ended > 250, ended)
    end)
end)

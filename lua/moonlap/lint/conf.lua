--- Shows nginx.conf to the rules that have a function `conf`.
--
-- A directive is a table with `name`, `args`, `line`, `column`, `file` (a number, Go's), `block`
-- (its directives, nil where it has none), `lua` (the text of a block of Lua) and `parent`.
-- @module moonlap.lint.conf
local _M = {}

local char, gmatch, gsub = string.char, string.gmatch, string.gsub
local ipairs, setmetatable, tonumber = ipairs, setmetatable, tonumber

local Conf = {}
Conf.__index = Conf


--- Calls `f` with each directive.
function Conf:all(f)
    local function go(list)
        for _, d in ipairs(list) do
            f(d)
            if d.block then
                go(d.block)
            end
        end
    end
    go(self.directives)
end


--- Calls `f` with each directive of that name, wherever it stands.
function Conf:each(name, f)
    self:all(function(d)
        if d.name == name then
            f(d)
        end
    end)
end


--- The directive that holds at a place: in its own block, or in one around it.
-- @tparam table at a directive
-- @tparam string name
function Conf:holds(at, name)
    local list = at.block or at.parent and at.parent.block or self.directives
    local block = at.block and at or at.parent
    while list do
        for _, d in ipairs(list) do
            if d.name == name then
                return d
            end
        end
        if not block then
            return nil
        end
        block = block.parent
        list = block and block.block or self.directives
    end
end


local function plain(word)
    return (gsub(word, "%%(%x%x)", function(hex) return char(tonumber(hex, 16)) end))
end


--- Reads what Go sends: a line a directive, a tab behind each word: depth, file, line, column,
-- "{" where it has a block, "lua" where that is Lua, which is the last word, and "-" where it has
-- none, its name, its arguments. What would break a line is
-- %XX.
-- @tparam string text
-- @treturn table the directives, with `each` and `holds`
function _M.read(text)
    local top = {}
    local open = {[0] = {block = top}} -- the block that is open at each depth
    for line in gmatch(text, "[^\n]+") do
        local words = {}
        for word in gmatch(line, "([^\t]*)\t") do
            words[#words + 1] = word
        end
        local depth = tonumber(words[1])
        local d = {file = tonumber(words[2]), line = tonumber(words[3]),
            column = tonumber(words[4]), block = words[5] == "{" and {} or nil,
            name = plain(words[6]), args = {}}
        for i = 7, #words do
            d.args[#d.args + 1] = plain(words[i])
        end
        if words[5] == "lua" then
            d.lua = table.remove(d.args)
        end
        local around = open[depth]
        d.parent = depth > 0 and around or nil
        around.block[#around.block + 1] = d
        open[depth + 1] = d.block and d or nil
    end
    return setmetatable({directives = top}, Conf)
end


--- Runs a rule over nginx.conf.
-- @tparam table conf what `read` returned
-- @tparam table rule an element of the list `conf` of `rules.prepare`
-- @tparam string class of the file
-- @tparam table findings that its findings are appended to
function _M.check(conf, rule, class, findings)
    local file = {}
    function file.report(_, directive, message)
        findings[#findings + 1] = {
            rule = rule.rule, line = directive.line, column = directive.column,
            file = directive.file, message = message, class = class, loops = 0, cold = false,
        }
    end
    rule.call(file, conf)
end


return _M

--- Reads Lua: LuaJIT judges the syntax, luacheck's parser makes the tree.
--
-- A node is a table with `tag`, `line`, `offset` and `end_offset`; offsets count bytes from 1. The
-- tags are those of luacheck's parser: Id, Index, Call, Invoke, Op, Function, Set, Local, Forin, …
-- @module moonlap.lint.syntax
local _M = {}

local byte, find, format = string.byte, string.find, string.format
local gsub, match, sub = string.gsub, string.match, string.sub
local load, pcall, setmetatable, type = load, pcall, setmetatable, type

local BOM = "\239\187\191"
local UNDERSCORE, HASH = byte "_", byte "#"


-- luacheck's modules, loaded unchanged. They get globals of their own: a `luacheck` that is
-- installed on this machine, of whatever version, is not theirs.
local vendored
do
    local loaded, globals = {}, {}
    for name, value in pairs(_G) do
        globals[name] = value
    end

    function vendored(name)
        if not loaded[name] then
            local path = assert(package.searchpath("moonlap.lint.luacheck." .. name, package.path))
            loaded[name] = setfenv(assert(loadfile(path)), globals)()
        end
        return loaded[name]
    end

    function globals.require(name)
        return vendored(name:match "^luacheck%.(.+)$")
    end
end

local parser = vendored "parser"


-- What luacheck's lexer reads from. It asks for code points; these are bytes, so that all
-- offsets are. A byte of a UTF-8 sequence may stand in a name, as LuaJIT has it.
local Bytes = {}
Bytes.__index = Bytes

function Bytes:get_codepoint(i)
    local b = byte(self.text, i)
    if b and b >= 0x80 then
        return UNDERSCORE
    end
    return b
end

function Bytes:get_substring(from, to)
    return sub(self.text, from, to)
end

Bytes.get_printable_substring = Bytes.get_substring

function Bytes:get_length()
    return #self.text
end

function Bytes:find(pattern, from)
    return find(self.text, pattern, from)
end


-- Where the token that an error names first stands in a line; 1 where it does not.
local function column_of(message, text, from)
    local token = match(message, "near '(.*)'$")
    local to = from and find(text, "\n", from, true) or #text + 1
    local at = token and from and find(text, token, from, true)
    return at and at < to and at - from + 1 or 1
end


-- The place of a syntax error. LuaJIT tells the line, and the parser often the column.
local function fault(message, tree_error, line_offsets, source)
    local line, text = match(message, "^[^\n]-:(%d+): (.*)$")
    line = tonumber(line) or 1
    local column = column_of(message, source, line_offsets[line])
    if tree_error and tree_error.line == line and line_offsets[line] then
        column = tree_error.offset - line_offsets[line] + 1
    end
    return {line = line, column = column, message = text or message}
end


--- Parses a chunk.
-- @tparam string text with or without a BOM
-- @treturn table `tree` (an array of statements), `comments` (short ones: `line`, `contents`),
-- `line_offsets`, `text` without the BOM
-- @treturn[2] nil
-- @treturn[2] table `line`, `column`, `message`
function _M.parse(text)
    if sub(text, 1, 3) == BOM then
        text = sub(text, 4)
    end
    if byte(text, 1) == 0x1b then
        return nil, {line = 1, column = 1, message = "compiled Lua: there is no source to read"}
    end
    -- LuaJIT skips a first line that begins with '#' in files alone: here it becomes a comment.
    if byte(text, 1) == HASH then
        text = gsub(text, "^#[^\n]", "--", 1):gsub("^#", " ")
    end
    local chunk, refused = load(text, "=lua", "t")

    local line_offsets = {}
    local bytes = setmetatable({text = text}, Bytes)
    local ok, tree, comments = pcall(parser.parse, bytes, line_offsets, {})
    local tree_error = not ok and type(tree) == "table" and tree.line and tree or nil
    if not chunk then
        return nil, fault(refused, tree_error, line_offsets, text)
    end
    if not ok then
        local message = tree_error and tree_error.msg or tostring(tree)
        return nil, fault(format("lua:%d: LuaJIT takes this, but moonlap cannot read it: %s",
            tree_error and tree_error.line or 1, message), tree_error, line_offsets, text)
    end
    return {tree = tree, comments = comments, line_offsets = line_offsets, text = text}
end


return _M

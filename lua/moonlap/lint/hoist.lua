--- Edits that make an expression once, above, in place of making it each time.
--
-- They keep the meaning: what the expression uses is visible above and is the same there. Where
-- that is not sure there are no edits.
-- @module moonlap.lint.hoist
local _M = {}

local find, format, gsub, match = string.find, string.format, string.gsub, string.match
local rep, sub = string.rep, string.sub
local ipairs, type = ipairs, type


-- Calls `f` with each local variable that an expression uses and does not declare itself; false
-- where it uses `...`, of which nobody knows what it is above.
local function each_variable(node, whole, f)
    if node.tag == "Dots" then
        return false
    elseif node.tag == "Id" and node.var then
        local at = node.var.node.offset
        if at < whole.offset or at > whole.end_offset then
            return f(node.var)
        end
        return true
    end
    for _, inner in ipairs(node) do
        if type(inner) == "table" and each_variable(inner, whole, f) == false then
            return false
        end
    end
    return true
end


-- Tells whether all that an expression uses is declared before a place, by the chunk itself where
-- the place is the chunk's. `fixed` also asks that nothing else is ever assigned to it.
local function visible(node, place, of_chunk, fixed)
    return each_variable(node, node, function(var)
        return var.node.offset < place.offset and (not of_chunk or var.func.chunk == true)
            and not (fixed and var.sets > 0)
    end)
end


-- A name that stands nowhere in the source.
local function fresh(file, name)
    file.hoisted = file.hoisted or {}
    local text = file.source.text
    local tried, n = name, 1
    while file.hoisted[tried] or find(text, "%f[%w_]" .. tried .. "%f[^%w_]") do
        n = n + 1
        tried = name .. n
    end
    file.hoisted[tried] = true
    return tried
end


-- Where the line begins that a statement begins, nil where something else stands before it.
local function line_of(file, statement)
    local from = file.source.line_offsets[statement.line]
    local before = sub(file.source.text, from, statement.offset - 1)
    return find(before, "^[ \t]*$") and from, before
end


-- Where the comments begin that stand right above a line: they belong to what it holds.
local function above_comments(file, line)
    local offsets, text = file.source.line_offsets, file.source.text
    while line > 1 do
        local above = sub(text, offsets[line - 1], offsets[line] - 1)
        if not find(above, "^[ \t]*%-%-") or find(above, "%[=*%[") or find(above, "%]=*%]") then
            break
        end
        line = line - 1
    end
    return offsets[line]
end


-- The text of an expression as it stands at another depth of indentation. One with long strings
-- stays as it is.
local function moved(text, from, to)
    if #from <= #to or find(text, "%[=*%[") or find(text, "\\\r?\n") then
        return text
    end
    local less = rep(" ", #from - #to)
    if find(from, "\t") or find(gsub(text, "\n" .. less, ""), "\n[^\n\r ]") then
        return text
    end
    return (gsub(text, "\n" .. less, "\n"))
end


--- Edits that put an expression into a local above the statement of the chunk that it stands in,
-- or above a loop.
-- @tparam table file
-- @tparam table node the expression
-- @tparam string name of the local, where it is free
-- @tparam[opt] table more `loop`: above which it may stand; `fixed`: what it uses is never set
-- again
-- @treturn table edits; nil where the meaning might change
function _M.edits(file, node, name, more)
    local place, of_chunk = file.statement, true
    if find(file.source.text, "setfenv", 1, true) then
        return nil -- a function has the globals of the one that makes it
    elseif not place or not visible(node, place, true, more and more.fixed) then
        place, of_chunk = more and more.loop, false
        if not place or not visible(node, place, false, more.fixed) then
            return nil
        end
    end
    local from, indent = line_of(file, place)
    if not from then
        return nil
    end
    local line = file.source.line_offsets[node.line]
    local text = moved(file:text(node), match(sub(file.source.text, line, node.offset), "^[ \t]*"),
        indent)
    local known_as = fresh(file, name)
    local ends = find(file.source.text, "\r\n", 1, true) and "\r\n" or "\n"
    from = of_chunk and above_comments(file, place.line) or from
    return {
        {from = from, to = from - 1, text = format("%slocal %s = %s%s%s", indent, known_as, text,
            ends, of_chunk and ends or "")},
        {from = node.offset, to = node.end_offset, text = known_as},
    }
end


-- How often a name stands in the source, as a word.
local function count(file, name)
    local _, n = gsub(file.source.text, "%f[%w_]" .. name .. "%f[^%w_]", "")
    return n
end


--- Edits that move `local function f` or `local f = function` from a loop to above it.
-- @tparam table file
-- @tparam table statement a Local or Localrec node that declares the function alone
-- @tparam table loop that it uses no variable of
-- @treturn table edits; nil where the meaning might change: something may tell one function from
-- the next, or f means something else elsewhere
function _M.moves(file, statement, loop)
    local text, offsets = file.source.text, file.source.line_offsets
    local id = statement[1][1]
    local var = id.var
    if #statement[1] > 1 or var.sets > 0 or find(text, "setfenv", 1, true)
        or count(file, id[1]) ~= 1 + #var.uses then
        return nil
    end
    for _, use in ipairs(var.uses) do
        if use.parent.tag ~= "Call" or use.parent[1] ~= use then
            return nil
        end
    end
    local to, indent = line_of(file, loop)
    local from, inner = line_of(file, statement)
    local ends = from and match(text, "^[ \t]*\r?\n()", statement.end_offset + 1)
    if not to or not ends or above_comments(file, statement.line) ~= offsets[statement.line] then
        return nil
    end
    local moved_text = moved(file:text(statement), inner, indent)
    return {
        {from = to, to = to - 1, text = indent .. moved_text .. sub(text, statement.end_offset + 1,
            ends - 1)},
        {from = from, to = ends - 1, text = ""},
    }
end


return _M

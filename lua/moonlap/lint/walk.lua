--- Walks a chunk once and shows each node to the rules that asked for its tag.
--
-- While a node is shown, `file` says where it stands: `file.func` is the function around it,
-- `file.loops` how many loops of that function are around it, `file.loop` the innermost of them,
-- `file.cold` is above 0 in a branch that ends by reporting a failure, `file.guarded` in one whose
-- condition asks for the level of logs, `file.branch` tells branches of an `if` apart, and a loop
-- has the one that it stands in as `branch`. `file.statement` is the statement of the chunk itself
-- that all this is part of. What a loop does at most once is not in it: a block that ends by
-- leaving the loop, and what stands in `repeat … until true`. What follows `do return end` is
-- not shown.
-- @module moonlap.lint.walk
local roles = require "moonlap.lint.roles"
local rules = require "moonlap.lint.rules"

local _M = {}

local find = string.find
local ipairs = ipairs

local show, block


local function enter(file, node)
    local outer = file.func
    local func = {
        node = node, outer = outer, data = {}, line = node.line,
        class = roles.of_function(file, node),
    }
    local loops, loop, cold, around = file.loops, file.loop, file.cold, file.branch
    local left = file.left
    file.func, file.loops, file.loop, file.cold, file.branch = func, 0, nil, 0, nil
    file.left = nil
    if node.chunk then
        for _, statement in ipairs(node[2]) do
            file.statement = statement
            show(file, statement)
        end
    else
        block(file, node[2])
    end
    rules.call(file.rules.leave, file, func)
    file.func, file.loops, file.loop, file.cold, file.branch = outer, loops, loop, cold, around
    file.left = left
end


local function each(file, list)
    for i = 1, #list do
        show(file, list[i])
    end
end


-- `file.left` is the loop that `break` leaves.
local function looped(file, node, body, condition)
    local loops, loop, left = file.loops, file.loop, file.left
    node.branch, node.around = file.branch, loop
    file.left = node
    if not condition or condition.tag ~= "True" then
        file.loops, file.loop = loops + 1, node
    end
    block(file, body)
    if condition then
        show(file, condition)
    end
    file.loops, file.loop, file.left = loops, loop, left
end


-- How a block leaves what it stands in: "Break", "Return", or nil where it goes on.
local function leaves(list)
    local last = list[#list]
    local tag = last and last.tag
    if tag == "Do" then
        return leaves(last)
    end
    return (tag == "Break" or tag == "Return") and tag or nil
end


-- Tells whether a branch ends in `return nil, …`, `return false, …` or error(): what failed is
-- rarely hot.
local function fails(list)
    local last = list[#list]
    if not last then
        return false
    elseif last.tag == "Return" then
        local value = last[1]
        return value ~= nil and last[2] ~= nil and (value.tag == "Nil" or value.tag == "False")
    end
    return last.tag == "Call" and last[1].tag == "Id" and last[1][1] == "error"
end


-- Tells whether a condition asks for the level of logs, itself or through a local.
local function asks_level(file, condition)
    local text = file:text(condition)
    if find(text, "[dD]ebug") or find(text, "DEBUG") or find(text, "log_?level")
        or find(text, "filter_level") or find(text, "[vV]erbose") then
        return true
    end
    local var = condition.tag == "Id" and condition.var
    if var and var.value and var.value ~= condition then
        return asks_level(file, var.value)
    elseif condition.tag == "Op" then
        return asks_level(file, condition[2])
            or condition[3] ~= nil and asks_level(file, condition[3])
    end
    return false
end


-- Tells whether a statement returns unless logs of a low level are written.
local function returns_unless_level(file, node)
    return node.tag == "If" and #node == 2 and leaves(node[2]) == "Return"
        and asks_level(file, node[1])
end


local function branch(file, list, condition)
    local cold = fails(list) and 1 or 0
    local guard = condition and asks_level(file, condition) and 1 or 0
    local around = file.branch
    file.cold, file.guarded, file.branch = file.cold + cold, file.guarded + guard, {outer = around}
    block(file, list)
    file.cold, file.guarded, file.branch = file.cold - cold, file.guarded - guard, around
end


-- What stands inside a node, by its tag. All expressions that are not named here are leaves.
local inside = {}

function inside.Op(file, node)
    show(file, node[2])
    if node[3] then
        show(file, node[3])
    end
end

inside.Index, inside.Call, inside.Invoke = each, each, each
inside.Paren, inside.Pair, inside.Table, inside.Return = each, each, each, each
inside.Function = enter

function inside.Do(file, node)
    block(file, node)
end

function inside.Set(file, node)
    each(file, node[1])
    each(file, node[2])
end

function inside.Local(file, node)
    if node[2] then
        each(file, node[2])
    end
end

function inside.Localrec(file, node)
    each(file, node[2])
end

function inside.While(file, node)
    looped(file, node, node[2], node[1])
end

function inside.Repeat(file, node)
    looped(file, node, node[1], node[2])
end

function inside.Fornum(file, node)
    for i = 2, #node - 1 do
        show(file, node[i])
    end
    looped(file, node, node[#node])
end

function inside.Forin(file, node)
    each(file, node[2])
    looped(file, node, node[3])
end

function inside.If(file, node)
    for i = 1, #node, 2 do
        if node[i + 1] then
            show(file, node[i])
            branch(file, node[i + 1], node[i])
        else
            branch(file, node[i])
        end
    end
end


function show(file, node)
    local tag = node.tag
    local interested = file.rules.visit[tag]
    if interested then
        rules.call(interested, file, node)
    end
    local go = inside[tag]
    if go then
        go(file, node)
    end
end


function block(file, list)
    local loops, loop, guarded, how = file.loops, file.loop, file.guarded, leaves(list)
    if how == "Return" then
        file.loops, file.loop = 0, nil
    elseif how and loop and file.left == loop then
        file.loops, file.loop = loops - 1, loop.around
    end
    for i = 1, #list do
        show(file, list[i])
        if list[i].tag == "Do" and leaves(list[i]) then
            break -- `do return end` is how code is switched off: what follows never runs
        end
        if returns_unless_level(file, list[i]) then
            file.guarded = file.guarded + 1
        end
    end
    file.loops, file.loop, file.guarded = loops, loop, guarded
end


--- Walks a chunk.
-- @tparam table file from `file.new`
-- @tparam table chunk what `scopes.resolve` returned
function _M.walk(file, chunk)
    file.loops, file.cold, file.guarded = 0, 0, 0
    enter(file, chunk)
    rules.call(file.rules.finish, file)
end


return _M

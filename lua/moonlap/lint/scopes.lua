--- Says of each name in a tree which variable it is, and of each variable what it is set to.
--
-- After `resolve`, an Id node of a local variable has `var` and `parent`, the node that it stands
-- in. A variable has `name`, `node`, `sets` (assignments behind its declaration), `value` (the
-- expression it is declared with, nil where that is unknown), `uses` (Id nodes that read it) and
-- `func`, the function node that declares it; the chunk itself is such a node, with tag Function.
-- A read has `within`, the function that it stands in; a call has `parent`. A function has `outer`,
-- `parent` and, where one variable alone is it, `var`: as its `value`, or as what it is `given`
-- behind its declaration. An Index node that is assigned to has `assigned`.
-- @module moonlap.lint.scopes
local _M = {}

local ipairs = ipairs


-- A block's names. Inner blocks see those of outer ones through the chain.
local function inner(scope)
    return {outer = scope, names = {}, func = scope.func}
end


local function find(scope, name)
    while scope do
        local var = scope.names[name]
        if var then
            return var
        end
        scope = scope.outer
    end
end


local function declare(scope, id, value)
    local var = {
        name = id[1], node = id, sets = 0, uses = {}, value = value, func = scope.func,
    }
    if value and value.tag == "Function" then
        value.var = var
    end
    scope.names[id[1]] = var
    id.var, id.declares = var, true
end


local expression, block

local function expressions(scope, list, parent)
    for _, e in ipairs(list) do
        expression(scope, e, parent)
    end
end


local function func(scope, node)
    local own = {outer = scope, names = {}, func = node}
    node.outer = scope.func
    for _, id in ipairs(node[1]) do
        if id.tag == "Id" then
            declare(own, id)
        end
    end
    block(own, node[2])
end


local function use(scope, id, parent)
    local var = find(scope, id[1])
    if var then
        id.var, id.parent, id.within = var, parent, scope.func
        var.uses[#var.uses + 1] = id
    end
end


function expression(scope, node, parent)
    local tag = node.tag
    if tag == "Id" then
        use(scope, node, parent)
    elseif tag == "Function" then
        node.parent = parent
        func(scope, node)
    elseif tag == "Op" then
        expression(scope, node[2], node)
        if node[3] then
            expression(scope, node[3], node)
        end
    elseif tag == "Index" or tag == "Call" or tag == "Invoke" or tag == "Paren" or tag == "Pair"
        or tag == "Table" then
        node.parent = parent
        expressions(scope, node, node)
    end
end


-- An assignment's left side: a variable is set, a table is read and changed.
local function target(scope, node, statement)
    if node.tag ~= "Id" then
        node.assigned = true
        return expressions(scope, node, node)
    end
    local var = find(scope, node[1])
    if var then
        node.var, node.parent = var, statement
        var.sets = var.sets + 1
    end
end


local statements = {}

function statements.Local(scope, node)
    if node[2] then
        expressions(scope, node[2], node)
    end
    for i, id in ipairs(node[1]) do
        declare(scope, id, node[2] and node[2][i])
    end
end

function statements.Localrec(scope, node)
    declare(scope, node[1][1], node[2][1])
    expression(scope, node[2][1], node)
end

function statements.Set(scope, node)
    expressions(scope, node[2], node)
    for i, e in ipairs(node[1]) do
        target(scope, e, node)
        local value = node[2][i]
        -- `local f` above, `f = function` here: where nothing else is assigned, f is that function.
        if e.var and not e.var.value and e.var.sets == 1 and value and value.tag == "Function" then
            value.var, e.var.given = e.var, value
        end
    end
end

function statements.Do(scope, node)
    block(inner(scope), node)
end

function statements.While(scope, node)
    expression(scope, node[1], node)
    block(inner(scope), node[2])
end

function statements.Repeat(scope, node)
    local own = inner(scope)
    block(own, node[1])
    expression(own, node[2], node) -- it sees the block's variables
end

function statements.If(scope, node)
    for i = 1, #node, 2 do
        if node[i + 1] then
            expression(scope, node[i], node)
            block(inner(scope), node[i + 1])
        else
            block(inner(scope), node[i])
        end
    end
end

function statements.Fornum(scope, node)
    for i = 2, #node - 1 do
        expression(scope, node[i], node)
    end
    local own = inner(scope)
    declare(own, node[1])
    block(own, node[#node])
end

function statements.Forin(scope, node)
    expressions(scope, node[2], node)
    local own = inner(scope)
    for _, id in ipairs(node[1]) do
        declare(own, id)
    end
    block(own, node[3])
end

function statements.Return(scope, node)
    expressions(scope, node, node)
end

function statements.Call(scope, node)
    expression(scope, node)
end

statements.Invoke = statements.Call


function block(scope, list)
    for _, statement in ipairs(list) do
        local known = statements[statement.tag]
        if known then
            known(scope, statement)
        end
    end
end


--- Resolves a chunk's names, in the tree itself.
-- @tparam table tree what `syntax.parse` returned as `tree`
-- @treturn table the chunk as a Function node
function _M.resolve(tree)
    local chunk = {{{tag = "Dots"}}, tree, tag = "Function", line = 1, offset = 1, chunk = true}
    func({names = {}}, chunk)
    return chunk
end


return _M

-- Finds calls of ngx.re.match that only ask whether there is a match.

-- Operators of which the operands are only asked for their truth, where the result is.
local LOGIC = {["not"] = true, ["and"] = true, ["or"] = true}

local function is_match(file, node)
    return node.tag == "Call" and file:name(node[1]) == "ngx.re.match"
        and not node[6] -- the table for the captures, which is the caller's
end

local function report(file, call)
    file:report(call, "ngx.re.match makes a table of captures where it matches, and nobody reads "
        .. "it: ngx.re.find takes the same arguments and makes none", {sometimes = true})
end

local function compared_with_nil(node)
    return node.tag == "Op" and (node[1] == "eq" or node[1] == "ne") and node[3].tag == "Nil"
end

-- Goes through a condition.
local function check(file, node)
    if node.tag == "Paren" then
        check(file, node[1])
    elseif node.tag == "Op" and LOGIC[node[1]] then
        check(file, node[2])
        if node[3] then
            check(file, node[3])
        end
    elseif compared_with_nil(node) then
        check(file, node[2])
    elseif is_match(file, node) then
        report(file, node)
    end
end

-- Tells whether a variable is only asked for its truth.
local function asked(var)
    for _, id in ipairs(var.uses) do
        local parent = id.parent
        local truth = parent and (parent.tag == "If" or compared_with_nil(parent)
            or parent.tag == "Op" and parent[1] == "not")
        if not truth then
            return false
        end
    end
    return #var.uses > 0
end

return {visit = {
    If = function(file, node)
        for i = 1, #node - 1, 2 do
            check(file, node[i])
        end
    end,
    While = function(file, node)
        check(file, node[1])
    end,
    Local = function(file, node)
        local value, var = node[2] and node[2][1], node[1][1].var
        if value and is_match(file, value) and var.sets == 0 and asked(var)
            and not (node[1][2] and #node[1][2].var.uses > 0) then
            report(file, value)
        end
    end,
}}

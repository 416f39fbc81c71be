-- Finds text that grows by `..` in each iteration of a loop.
local FEW = 3 -- iterations that cost no more than table.concat

local function reads(node, var)
    while node.tag == "Op" and node[1] == "concat" do
        if node[2].tag == "Id" and node[2].var == var then
            return true
        end
        node = node[3] -- `..` groups to the right
    end
    return node.tag == "Id" and node.var == var
end

local function few(loop)
    local from, to = loop[2], loop[3]
    return loop.tag == "Fornum" and #loop == 4 and from.tag == "Number" and to.tag == "Number"
        and (tonumber(to[1]) or 0) - (tonumber(from[1]) or 0) < FEW
end

-- Tells whether an assignment gives a variable something that does not hold the old text; what a
-- call returns does not.
local function begins(node, var)
    for i, id in ipairs(node[1]) do
        local value = node[2][i]
        if id.var == var and not (value and reads(value, var)) then
            return true
        end
    end
    return false
end

-- Tells whether a statement gives a variable a text that does not hold the old one.
local function resets(list, var)
    for _, node in ipairs(list) do
        if type(node) == "table" then
            if node.tag == "Set" and begins(node, var) then
                return true
            elseif node.tag ~= "Function" and resets(node, var) then
                return true
            end
        end
    end
    return false
end

return {visit = {Set = function(file, node)
    local loop = file.loop
    local id, value = node[1][1], node[2][1]
    if not loop or #node[1] > 1 or id.tag ~= "Id" or not id.var or not value
        or value.tag ~= "Op" or value[1] ~= "concat" then
        return
    end
    local outside = id.var.node.offset < loop.offset
    local grown = file:here()
    if outside and not few(loop) and reads(value, id.var) and not grown[id.var] then
        -- One that begins anew in each iteration does not grow from one to the next.
        if resets(loop, id.var) then
            return
        end
        grown[id.var] = true
        file:report(node, string.format("%s grows by '..' in a loop: each iteration copies all of "
            .. "it; collect the parts in a table and call table.concat once", id[1]))
    end
end}}

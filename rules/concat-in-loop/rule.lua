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

return {visit = {Set = function(file, node)
    local loop = file.loop
    local id, value = node[1][1], node[2][1]
    if not loop or #node[1] > 1 or id.tag ~= "Id" or not id.var or not value
        or value.tag ~= "Op" or value[1] ~= "concat" then
        return
    end
    local outside = id.var.node.offset < loop.offset
    if outside and not few(loop) and reads(value, id.var) then
        file:report(node, string.format("%s grows by '..' in a loop: each iteration copies all of "
            .. "it; collect the parts in a table and call table.concat once", id[1]))
    end
end}}

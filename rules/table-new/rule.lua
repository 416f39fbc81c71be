-- Finds empty tables that a counted loop fills.
local FEW = 4

local function small(loop)
    local to = loop[3]
    return to.tag == "Number" and (tonumber(to[1]) or 0) <= FEW
end

return {visit = {Set = function(file, node)
    local loop = file.loop
    local target = node[1][1]
    if not loop or loop.tag ~= "Fornum" or #node[1] > 1 or target.tag ~= "Index" or small(loop)
        or loop.branch ~= file.branch then -- some elements alone: how many is not known
        return
    end
    local list, key = target[1], target[2]
    local var = list.tag == "Id" and list.var
    if not var or key.tag ~= "Id" or key.var ~= loop[1].var or var.sets > 0
        or var.func ~= file.func.node or not var.value or var.value.tag ~= "Table"
        or #var.value > 0 or var.node.offset > loop.offset or var.sized then
        return
    end
    var.sized = true
    file:report(var.value, string.format("%s is filled by a counted loop and grows step by step: "
        .. "table.new(n, 0) makes room at once", list[1]), {loops = -1})
end}}

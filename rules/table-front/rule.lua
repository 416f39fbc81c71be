-- Finds lists that are changed at their front.
local function one(node)
    return node and node.tag == "Number" and tonumber(node[1]) == 1
end

return {visit = {Call = function(file, call)
    local name = file:name(call[1])
    local list = call[2]
    if not list or list.tag == "Id" and list[1] == "arg"
        or not file:deals_with_requests() then
        return
    end
    if name == "table.insert" and #call == 4 and one(call[3]) then
        file:report(call, "table.insert at 1 moves the whole list: append, and read it backwards")
    elseif name == "table.remove" and #call == 3 and one(call[3]) then
        file:report(call, "table.remove at 1 moves the whole list: keep the index of the first")
    end
end}}

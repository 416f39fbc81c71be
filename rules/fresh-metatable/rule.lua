-- Finds metatables that are made with each object.
local function hoistable(node)
    for _, pair in ipairs(node) do
        local value = pair.tag == "Pair" and pair[2]
        if not value or value.tag ~= "Id" or not value.var or not value.var.func.chunk then
            return false
        end
    end
    return #node > 0
end

return {visit = {Call = function(file, call)
    local mt = call[3]
    if file:name(call[1]) == "setmetatable" and mt and mt.tag == "Table" and hoistable(mt)
        and not file.func.node.chunk and file:deals_with_requests() then
        file:report(mt, "a metatable is made with each object: one local for all is enough")
    end
end}}

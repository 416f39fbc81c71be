-- Finds functions that throw, and are called through pcall in the same file.

-- Tells whether a function's own code calls error, not that of functions inside it.
local function throws(file, node)
    if node.tag == "Call" and file:name(node[1]) == "error" then
        return true
    end
    for _, inner in ipairs(node) do
        if type(inner) == "table" and inner.tag ~= "Function" and throws(file, inner) then
            return true
        end
    end
    return false
end

return {visit = {Call = function(file, call)
    local f = call[2]
    if file:name(call[1]) ~= "pcall" or not f or not file:deals_with_requests() then
        return
    end
    if f.tag == "Id" and f.var and f.var.sets == 0 and f.var.value then
        f = f.var.value
    end
    if f.tag == "Function" and throws(file, f[2]) then
        file:report(call, "error() is thrown and caught in this file: a throw unwinds the stack "
            .. "and is not compiled; 'return nil, err' costs nothing")
    end
end}}

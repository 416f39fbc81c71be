-- Finds metatables that are made with each object.
local hoist = require "moonlap.lint.hoist"

local function hoistable(node)
    for _, pair in ipairs(node) do
        local value = pair.tag == "Pair" and pair[2]
        local var = value and value.tag == "Id" and value.var
        if not var or not var.func.chunk or var.sets > (var.given and 1 or 0) then
            return false
        end
    end
    return #node > 0
end

-- One for all means the same where nothing changes it, and its keys are names.
local function fix(file, mt)
    if file.source.text:find("getmetatable", 1, true) then
        return nil
    end
    for _, pair in ipairs(mt) do
        if pair[1].tag ~= "String" then
            return nil
        end
    end
    return hoist.edits(file, mt, "mt", {fixed = true})
end

return {visit = {Call = function(file, call)
    local mt = call[3]
    if file:name(call[1]) == "setmetatable" and mt and mt.tag == "Table" and hoistable(mt)
        and not file.func.node.chunk and file:deals_with_requests() then
        file:report(mt, "a metatable is made with each object: one local for all is enough",
            {fix = fix(file, mt)})
    end
end}}

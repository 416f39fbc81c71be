-- Finds unpack where the number of values is known.
local UNPACK = {["unpack"] = true, ["table.unpack"] = true}

local function unpacked(file, node)
    return node and node.tag == "Call" and #node == 2 and node[2].tag ~= "Table"
        and UNPACK[file:name(node[1])]
end

-- The parts of a table that is nothing but what it was declared with, where their number is fixed.
local function parts_of(node)
    local var = node.tag == "Id" and node.var
    local list = var and var.sets == 0 and var.value
    if not list or list.tag ~= "Table" or #list == 0 then
        return nil
    end
    for _, id in ipairs(var.uses) do
        local parent = id.parent
        local changed = parent and (parent.tag == "Index" and parent.assigned
            or parent.tag == "Call" and parent[2] == id and parent[3] or parent.tag == "Invoke")
        if changed then
            return nil
        end
    end
    local last = list[#list]
    for _, part in ipairs(list) do
        if part.tag == "Pair" or part.tag == "Dots" or part == last and (part.tag == "Call"
            or part.tag == "Invoke") then
            return nil
        end
    end
    return #list
end

local function report(file, call, count)
    if file:compiled("unpack") == "compiled" then
        return
    end
    file:reportf(call, "unpack is not compiled, and %s here: index %s",
        count == 1 and "one value is wanted" or count .. " values are wanted",
        count == 1 and "it" or "them")
end

local function declared(file, node)
    local values = node[2]
    local last = values and values[#values]
    if unpacked(file, last) then
        report(file, last, #node[1] - #values + 1)
        last.reported = true
    end
end

return {visit = {
    Local = declared,
    Set = declared,
    Index = function(file, node)
        if unpacked(file, node[1]) then
            report(file, node[1], 1)
            node[1].reported = true
        end
    end,
    Call = function(file, call)
        local count = not call.reported and unpacked(file, call) and parts_of(call[2])
        if count then
            report(file, call, count)
        end
    end,
}}

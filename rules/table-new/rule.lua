-- Finds empty tables that a counted loop fills.
local FEW = 4

local function small(loop)
    local to = loop[3]
    return to.tag == "Number" and (tonumber(to[1]) or 0) <= FEW
end

-- Tells whether what stands here runs in each turn of a counted loop: where some elements alone are
-- filled, how many is not known.
local function in_each(file)
    local loop = file.loop
    return loop and loop.tag == "Fornum" and not small(loop) and loop.branch == file.branch
end

-- Functions that make no list longer.
local READ = {["table.concat"] = true, ["table.sort"] = true, ["setmetatable"] = true,
    ["ipairs"] = true, ["pairs"] = true, ["unpack"] = true, ["next"] = true, ["type"] = true}

-- How many places may make a list longer.
local function appends(file, var)
    local n = 0
    for _, id in ipairs(var.uses) do
        local parent = id.parent
        if parent.tag == "Index" and parent.assigned and parent[2].tag ~= "String"
            or parent.tag == "Call" and parent[2] == id and not READ[file:name(parent[1])] then
            n = n + 1
        end
    end
    return n
end

local function filled(file, var)
    local loop = file.loop
    if not var or var.sets > 0 or var.func ~= file.func.node or not var.value
        or var.value.tag ~= "Table" or #var.value > 0 or var.node.offset > loop.offset
        or var.sized then
        return
    end
    var.sized = true
    file:report(var.value, string.format("%s is filled by a counted loop and grows step by step: "
        .. "table.new(n, 0) makes room at once", var.name), {loops = -1})
end

-- A list that is made longer at its end gets n elements where this loop alone does that, and runs
-- once for it.
local function appended(file, list)
    local var, loop = list.tag == "Id" and list.var, file.loop
    local made = var and var.made
    if made and made.loop == loop.around and made.branch == loop.branch
        and appends(file, var) == 1 then
        filled(file, var)
    end
end

-- Tells whether a key is `#list + 1`.
local function is_end(key, list)
    local length = key.tag == "Op" and key[1] == "add" and key[3].tag == "Number"
        and key[3][1] == "1" and key[2]
    return length and length.tag == "Op" and length[1] == "len" and length[2].tag == "Id"
        and length[2].var ~= nil and length[2].var == list.var
end

return {visit = {
    Local = function(file, node)
        for i, id in ipairs(node[1]) do
            local value = node[2] and node[2][i]
            if value and value.tag == "Table" and #value == 0 then
                id.var.made = {loop = file.loop, branch = file.branch}
            end
        end
    end,
    Set = function(file, node)
        local target = node[1][1]
        if #node[1] > 1 or target.tag ~= "Index" or not in_each(file) then
            return
        end
        local list, key = target[1], target[2]
        if key.tag == "Id" and key.var == file.loop[1].var then
            filled(file, list.tag == "Id" and list.var)
        elseif is_end(key, list) then
            appended(file, list)
        end
    end,
    Call = function(file, call)
        if #call == 3 and file:name(call[1]) == "table.insert" and in_each(file) then
            appended(file, call[2])
        end
    end,
}}

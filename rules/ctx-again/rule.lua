-- Finds functions that look up ngx.ctx three times or more, or in each iteration of a loop.
local MANY = 3

-- The most reads on one way through a function, and the second of them.
local function most_on_a_way(file, reads)
    local most, second = 0, nil
    for i, read in ipairs(reads) do
        local way = {} -- the reads on the way to this one
        for k = 1, i do
            if file:above(reads[k].branch, read.branch) then
                way[#way + 1] = reads[k]
            end
        end
        if #way > most then
            most, second = #way, way[2]
        end
    end
    return most, second
end

return {visit = {Index = function(file, node)
    if file:name(node) == "ngx.ctx" and not node.assigned then
        local here = file:here()
        here[#here + 1] = {node = node, branch = file.branch, loops = file.loops,
            each = file.loop and file.loop.branch == file.branch}
    end
end}, leave = function(file, func)
    local reads = func.data[file.rule] or {}
    local most, second = most_on_a_way(file, reads)
    if most >= MANY then
        return file:report(second.node, string.format("ngx.ctx is looked up %d times on one way "
            .. "through this function: keep it in a local", most),
            {func = func, loops = second.loops})
    end
    for _, read in ipairs(reads) do
        if read.each then
            return file:report(read.node, "ngx.ctx is looked up in each iteration: keep it in a "
                .. "local above the loop", {func = func, loops = read.loops})
        end
    end
end}

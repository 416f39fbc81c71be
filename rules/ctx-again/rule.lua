-- Finds functions that look up ngx.ctx three times or more.
local MANY = 3

return {visit = {Index = function(file, node)
    if file:name(node) == "ngx.ctx" and not node.assigned then
        local here = file:here()
        here[#here + 1] = {node = node, branch = file.branch, loops = file.loops}
    end
end}, leave = function(file, func)
    local reads = func.data[file.rule] or {}
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
    if most >= MANY then
        file:report(second.node, string.format("ngx.ctx is looked up %d times on one way through "
            .. "this function: keep it in a local", most), {func = func, loops = second.loops})
    end
end}

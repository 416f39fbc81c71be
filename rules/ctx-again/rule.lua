-- Finds functions that look up ngx.ctx three times or more.
local MANY = 3

return {visit = {Index = function(file, node)
    if file:name(node) == "ngx.ctx" and not node.assigned then
        local here = file:here()
        here[#here + 1] = {node = node, branch = file.branch, loops = file.loops}
    end
end}, leave = function(file, func)
    local reads = func.data[file.rule] or {}
    local first = reads[1]
    if not first then
        return
    end
    local count = 0
    for _, read in ipairs(reads) do
        -- Only what the first read always comes before counts.
        count = count + ((first.branch == nil or read.branch == first.branch) and 1 or 0)
    end
    if count >= MANY then
        file:report(reads[2].node, string.format("ngx.ctx is looked up %d times in this function: "
            .. "keep it in a local", count), {func = func, loops = reads[2].loops})
    end
end}

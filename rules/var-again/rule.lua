-- Finds nginx variables that a function reads again, or in a loop.
local function note(file, node)
    local name = file:name(node)
    local variable = name and name:match "^ngx%.var%.([%w_]+)$"
    if not variable then
        return
    end
    local here = file:here()
    local reads = here[variable] or {}
    here[variable] = reads
    if node.assigned then
        reads.set = true
    else
        reads[#reads + 1] = {node = node, branch = file.branch, loops = file.loops,
            each = file.loop and file.loop.branch == file.branch}
    end
end

-- Reads that another one on the same path comes before.
local function again(file, reads)
    local found = {}
    for i = 2, #reads do
        for k = 1, i - 1 do
            if file:above(reads[k].branch, reads[i].branch) then
                found[#found + 1] = reads[i]
                break
            end
        end
    end
    return found
end

return {visit = {Index = note}, leave = function(file, func)
    for variable, reads in pairs(func.data[file.rule] or {}) do
        local more = not reads.set and again(file, reads) or {}
        if #more > 0 then
            file:report(more[1].node, string.format("ngx.var.%s is read %d times in this "
                .. "function, and each time nginx makes a string of it: keep it in a local",
                variable, #more + 1), {func = func, loops = more[1].loops})
        elseif #reads == 1 and reads[1].each and not reads.set then
            file:report(reads[1].node, string.format("ngx.var.%s is read in each iteration: keep "
                .. "it in a local above the loop", variable), {func = func, loops = reads[1].loops})
        end
    end
end}

-- Finds globals that functions write: another request may read them before this one does.
return {classes = {"request", "timer"}, visit = {Set = function(file, node)
    local text = file.source.text
    if file.own_globals == nil then
        file.own_globals = text:find "%f[%w_]setfenv%f[^%w_]" ~= nil
            or text:find "%f[%w_]module%s*%(?%s*[\"'.]" ~= nil
    end
    if file.own_globals or file.func.node.chunk then
        return
    end
    for _, id in ipairs(node[1]) do
        if id.tag == "Id" and not id.var and id[1] ~= "_ENV" and not file:here()[id[1]] then
            file:here()[id[1]] = true
            file:report(node, string.format("the global %s is written in a function: requests "
                .. "that wait in between read each other's value; make it local", id[1]))
        end
    end
end}}

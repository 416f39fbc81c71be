-- Finds a value of a shared dict that is read, added to and written back.
local names = require "moonlap.lint.names"

-- The `dict:get(key)` that an expression stands for: itself, `or` a default, or a local of it.
local function read(node)
    while node.tag == "Paren" or node.tag == "Op" and node[1] == "or" do
        node = node.tag == "Paren" and node[1] or node[2]
    end
    if node.tag == "Id" and node.var and node.var.sets == 0 and node.var.value then
        return read(node.var.value)
    end
    return node.tag == "Invoke" and node[2][1] == "get" and node or nil
end

return {classes = {"request", "timer"}, visit = {Invoke = function(file, node)
    local key, value = node[3], node[4]
    if node[2][1] ~= "set" or not value or value.tag ~= "Op"
        or value[1] ~= "add" and value[1] ~= "sub" then
        return
    end
    local get = read(value[2])
    local dict = names.dict(node[1])
    if dict and get and get[3] and names.dict(get[1]) == dict
        and file:text(get[3]) == file:text(key) then
        file:report(node, "get and set of one key: another worker may write in between; "
            .. "incr(key, n, 0) is one step")
    end
end}}

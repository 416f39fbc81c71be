-- Finds string.gsub with a function, of which people say that ngx.re.gsub is faster.
local function is_function(node)
    local var = node and node.tag == "Id" and node.var
    return node and (node.tag == "Function" or var and var.value and var.value.tag == "Function")
end

local function check(file, node, by)
    if is_function(by) then
        file:report(node, "string.gsub with a function: ngx.re.gsub with one is slower, as it "
            .. "makes a table of captures for each match")
    end
end

return {visit = {Call = function(file, call)
    if file:name(call[1]) == "string.gsub" then
        check(file, call, call[4])
    end
end, Invoke = function(file, node)
    if node[2][1] == "gsub" then
        check(file, node, node[4])
    end
end}}

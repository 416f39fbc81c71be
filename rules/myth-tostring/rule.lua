-- Finds tostring inside concatenations, of which people say that it is slow.
local function stringed(file, node)
    return node and node.tag == "Call" and file:name(node[1]) == "tostring"
end

return {visit = {Op = function(file, node)
    if node[1] == "concat" then
        for i = 2, 3 do
            if stringed(file, node[i]) then
                file:report(node[i], "tostring in a concatenation is compiled away: the number "
                    .. "itself is no faster")
            end
        end
    end
end}}

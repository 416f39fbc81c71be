-- Finds loops over string.gmatch.
return {visit = {Forin = function(file, node)
    local call = node[2][1]
    local known = call.tag == "Call" and file:name(call[1]) == "string.gmatch"
        or call.tag == "Invoke" and call[2][1] == "gmatch"
    if known then
        file:report(call, "string.gmatch is not compiled: string.find with a position is")
    end
end}}

-- Finds unpack, which LuaJIT does not compile.
return {visit = {Call = function(file, call)
    local name = file:name(call[1])
    if (name == "unpack" or name == "table.unpack") and call[2] and #call == 2
        and call[2].tag ~= "Table" then
        file:report(call, "unpack is not compiled: where the number of values is known, index them")
    end
end}}

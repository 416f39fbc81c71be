-- Finds require in functions, of which people say that it is slow.
return {visit = {Call = function(file, call)
    if file:name(call[1]) == "require" and call[2] and call[2].tag == "String" then
        file:report(call, "require in a function finds a loaded module: a local at the "
            .. "top is no faster")
    end
end}}

-- Finds pcall of a function that is made for it.
return {visit = {Call = function(file, call)
    local name = file:name(call[1])
    if (name == "pcall" or name == "xpcall") and call[2] and call[2].tag == "Function" then
        file:report(call, name .. " of a function that is made for each call: pcall(f, arguments) "
            .. "makes none, and stays compiled")
    end
end}}

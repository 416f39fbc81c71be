-- Finds table.concat of a table that is made for it, of parts whose number is fixed.
return {visit = {Call = function(file, call)
    local list = call[2]
    if file:name(call[1]) ~= "table.concat" or not list or list.tag ~= "Table" or #list > 5
        or #list < 2 or call[4] or not file:deals_with_requests() then
        return
    end
    for _, part in ipairs(list) do
        local last = part == list[#list]
        if part.tag == "Pair" or part.tag == "Dots" or last and (part.tag == "Call"
            or part.tag == "Invoke") then
            return
        end
    end
    file:report(call, "table.concat of a fixed number of parts makes a table: join them with '..'")
end}}

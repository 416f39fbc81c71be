-- Finds table.insert at the end, of which people say that it is slow.
return {visit = {Call = function(file, call)
    if file:name(call[1]) == "table.insert" and #call == 3 then
        file:report(call, "table.insert at the end is compiled as t[#t + 1] = x is: neither "
            .. "is faster")
    end
end}}

-- Finds loops up to the length of a table that holds `...`.
return {visit = {Fornum = function(file, loop)
    local limit = loop[3]
    if limit.tag ~= "Op" or limit[1] ~= "len" or limit[2].tag ~= "Id" then
        return
    end
    local var = limit[2].var
    local value = var and var.value
    if value and value.tag == "Table" and #value == 1 and value[1].tag == "Dots" then
        file:report(loop, "a loop over {...} makes a table and is not compiled: select('#', ...) "
            .. "and select(i, ...) are")
    end
end}}

-- Finds loops whose limit is a length.
return {visit = {Fornum = function(file, node)
    local to = node[3]
    if to.tag == "Op" and to[1] == "len" then
        file:report(node, "#t as the limit of a loop is evaluated once: a local is no faster")
    end
end}}

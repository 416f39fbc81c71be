-- Finds string.match, of which people say that ngx.re.match is faster.
return {visit = {Call = function(file, call)
    if file:name(call[1]) == "string.match" then
        file:report(call, "string.match is not compiled, but ngx.re.match is no faster: it makes "
            .. "a table of captures")
    end
end, Invoke = function(file, node)
    if node[2][1] == "match" and node[3] and node[3].tag == "String" and not node[4] then
        file:report(node, "string.match is not compiled, but ngx.re.match is no faster: it makes "
            .. "a table of captures")
    end
end}}

-- Finds internal redirects behind writes to ngx.ctx in the same function.
return {visit = {Set = function(file, node)
    for _, target in ipairs(node[1]) do
        if target.tag == "Index" and file:name(target[1]) == "ngx.ctx" then
            file:here().written = true
        end
    end
end, Call = function(file, call)
    local known = file:name(call[1])
    local again = known == "ngx.exec"
        or known == "ngx.req.set_uri" and call[3] and call[3].tag == "True"
    if again and file:here().written then
        file:report(call, known .. " begins the request anew with an empty ngx.ctx: what this "
            .. "function put there is lost; moonlap.ctx or a variable of nginx keeps it")
    end
end}}

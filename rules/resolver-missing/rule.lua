-- Finds proxied hosts in variables where no resolver is set.
return {conf = function(file, conf)
    local upstreams = {}
    conf:each("upstream", function(d)
        upstreams[d.args[1] or ""] = true
    end)
    for _, name in ipairs {"proxy_pass", "fastcgi_pass", "grpc_pass", "uwsgi_pass"} do
        conf:each(name, function(d)
            local host = (d.args[1] or ""):gsub("^%w+://", ""):match "^[^/]*"
            -- A balancer, or a name that is put together with an upstream's, is its writer's care.
            if host:find "^%$" and next(upstreams) == nil and not conf:holds(d, "resolver") then
                file:report(d, "the host is in a variable, so it is looked up for each request; "
                    .. "there is no resolver here: add one, or requests fail")
            end
        end)
    end
end}

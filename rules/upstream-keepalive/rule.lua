-- Finds upstreams without kept connections that proxy_pass names.
return {conf = function(file, conf)
    local used = {}
    for _, name in ipairs {"proxy_pass", "fastcgi_pass", "grpc_pass", "memcached_pass"} do
        conf:each(name, function(d)
            local host = (d.args[1] or ""):gsub("^%w+://", ""):match "^[^/]+"
            used[host or ""] = d
        end)
    end
    conf:each("upstream", function(d)
        local holds = {}
        for _, inner in ipairs(d.block or {}) do
            holds[inner.name] = true
        end
        if used[d.args[1]] and not holds.keepalive then
            file:report(d, string.format("upstream %s without keepalive: each request opens a "
                .. "connection; 'keepalive 32;', with proxy_http_version 1.1 and an empty "
                .. "Connection header", d.args[1]))
        end
    end)
end}

-- Finds hosts that are looked up for each request where no resolver is set: in variables, and
-- names that a cosocket connects to.

local function check_proxied(file, conf)
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
end

-- The name that a cosocket connects to: no address, and no socket of unix.
local function named_host(lua)
    if not lua:find("ngx.socket.tcp", 1, true) and not lua:find("resty.", 1, true) then
        return nil
    end
    for host in lua:gmatch ":connect%(%s*[\"']([%w.-]+)[\"']" do
        if host:find "%a" then
            return host
        end
    end
end

return {conf = function(file, conf)
    check_proxied(file, conf)
    conf:all(function(d)
        local host = d.lua and named_host(d.lua)
        if host and not conf:holds(d, "resolver") then
            file:report(d, string.format("a cosocket looks %s up, and there is no resolver here: "
                .. "add one, or connect fails, whatever /etc/hosts says", host))
        end
    end)
end}

-- Finds upstreams of HTTP whose connections are not kept, though proxy_pass names them.
local SCHEME = {proxy_pass = "^https?://", grpc_pass = "^%w*:?/?/?", fastcgi_pass = "^",
    memcached_pass = "^", scgi_pass = "^", uwsgi_pass = "^%w*:?/?/?"}

-- Tells whether a directive stands in `stream`, where nothing is kept.
local function in_stream(d)
    while d do
        if d.name == "stream" then
            return true
        end
        d = d.parent
    end
    return false
end

local function holds(d, name)
    for _, inner in ipairs(d.block or {}) do
        if inner.name == name then
            return true
        end
    end
    return false
end

-- What a proxy_pass lacks to keep its connections: nginx speaks HTTP/1.0, or says "close".
local function lacks(conf, pass)
    local version = conf:holds(pass, "proxy_http_version")
    if not version or version.args[1] == "1.0" then
        return "proxy_http_version 1.1"
    end
    -- Headers of an inner block take the place of all that stand around it.
    local header = conf:holds(pass, "proxy_set_header")
    local beside = header and header.parent and header.parent.block or {}
    for _, d in ipairs(beside) do
        local of = d.name == "proxy_set_header" and d.args[1] or ""
        if of:lower() == "connection" then
            return nil
        end
    end
    return 'proxy_set_header Connection ""'
end

return {conf = function(file, conf)
    local passes = {}
    for name, scheme in pairs(SCHEME) do
        conf:each(name, function(d)
            local to = d.args[1] or ""
            if not in_stream(d) and to:find(scheme) then
                local host = to:gsub("^%w+://", ""):match "^[^/]+" or ""
                passes[host] = passes[host] or {}
                table.insert(passes[host], d)
            end
        end)
    end
    conf:each("upstream", function(d)
        local name = d.args[1] or ""
        local of = not in_stream(d) and passes[name]
        if of and not holds(d, "keepalive") then
            return file:report(d, string.format("upstream %s without keepalive: each request "
                .. "opens a connection; 'keepalive 32;', with proxy_http_version 1.1 and an empty "
                .. "Connection header", name))
        end
        for _, pass in ipairs(of or {}) do
            local missing = pass.name == "proxy_pass" and lacks(conf, pass)
            if missing then
                file:report(pass, string.format("the connections of upstream %s are not kept, "
                    .. "though it has keepalive: %s is missing here", name, missing))
            end
        end
    end)
end}

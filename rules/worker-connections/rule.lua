-- Finds limits on connections that a gateway reaches, and limits on files below them.
local FEW = 1024

return {conf = function(file, conf)
    local files, serves
    for _, d in ipairs(conf.directives) do
        serves = serves or (d.name == "http" or d.name == "stream") and d.block and d.block[1]
        files = d.name == "worker_rlimit_nofile" and d or files
    end
    for _, d in ipairs(conf.directives) do
        if d.name == "events" then
            local set
            for _, inner in ipairs(d.block or {}) do
                set = inner.name == "worker_connections" and inner or set
            end
            local limit = set and tonumber(set.args[1]) or 512
            if limit < FEW and serves then
                file:report(set or d, string.format("%d connections for each worker, upstreams and "
                    .. "cosockets included: past it requests are refused; raise it", limit))
            elseif files and (tonumber(files.args[1]) or limit) < limit then
                file:report(files, string.format("worker_rlimit_nofile %s is below the %d "
                    .. "worker_connections, and a connection takes a file: raise it",
                    files.args[1], limit))
            end
        end
    end
end}

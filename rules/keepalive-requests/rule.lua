-- Finds low limits on the requests of a connection.
local LOW = 1000

return {conf = function(file, conf)
    conf:each("keepalive_requests", function(d)
        local limit = tonumber(d.args[1])
        if limit and limit < LOW then
            file:report(d, string.format("a connection ends after %d requests, and the next begins "
                .. "with a handshake: nginx's default is %d; leave this out", limit, LOW))
        end
    end)
end}

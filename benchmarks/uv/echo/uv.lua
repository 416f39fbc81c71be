-- echo CONNECTIONS TRIPS: so many round trips of 64 bytes over all connections together; both
-- ends in this process and loop.
local uv = require(arg[1])
local measure = require "measure"
local connections, trips = tonumber(arg[2]), tonumber(arg[3])

local message = ("x"):rep(64)
local clients, connected, finished, done, start = {}, 0, 0, 0, nil

local server, port
server, port = measure.listen_on(uv, function(err)
    assert(not err, err)
    local peer = uv.new_tcp()
    server:accept(peer)
    peer:read_start(function(_, chunk)
        if chunk then
            peer:write(chunk)
        else
            peer:close()
        end
    end)
end)

for i = 1, connections do
    local client = uv.new_tcp()
    local left = math.floor(trips / connections)
    clients[i] = client
    client:connect("127.0.0.1", port, function(refused)
        assert(not refused, refused)
        client:read_start(function(err)
            assert(not err, err)
            done = done + 1
            left = left - 1
            if left > 0 then
                client:write(message)
                return
            end
            client:close()
            finished = finished + 1
            if finished == connections then
                server:close()
            end
        end)
        connected = connected + 1
        if connected == connections then
            start = measure.cpu_seconds()
            for j = 1, connections do
                clients[j]:write(message)
            end
        end
    end)
end
uv.run()
measure.report(measure.cpu_seconds() - start, done)

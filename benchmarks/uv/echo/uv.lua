-- echo KIND CONNECTIONS TRIPS: so many round trips of 64 bytes over all connections together, by
-- tcp or pipe; both ends in this process and loop.
local uv = require(arg[1])
local measure = require "measure"
local kind, connections, trips = arg[2], tonumber(arg[3]), tonumber(arg[4])

local message = ("x"):rep(64)
local clients, connected, finished, done, start = {}, 0, 0, 0, nil

local new = uv["new_" .. kind]
local server, where

local function on_connection(err)
    assert(not err, err)
    local peer = new()
    server:accept(peer)
    peer:read_start(function(_, chunk)
        if chunk then
            peer:write(chunk)
        else
            peer:close()
        end
    end)
end

local connect
if kind == "tcp" then
    server, where = measure.listen_on(uv, on_connection)
    function connect(client, callback)
        client:connect("127.0.0.1", where, callback)
    end
else
    server, where = measure.listen_by_pipe(uv, on_connection)
    function connect(client, callback)
        client:connect(where, callback)
    end
end

for i = 1, connections do
    local client = new()
    local left = math.floor(trips / connections)
    clients[i] = client
    connect(client, function(refused)
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

-- udp TRIPS: so many round trips of 64 bytes between two sockets of this process.
local uv = require(arg[1])
local measure = require "measure"
local trips = tonumber(arg[2])

local message, done = ("x"):rep(64), 0
local server, client = uv.new_udp(), uv.new_udp()
assert(server:bind("127.0.0.1", 0))
assert(client:bind("127.0.0.1", 0))
local port = server:getsockname().port

server:recv_start(function(_, data, from)
    if data then
        server:send(data, from.ip, from.port)
    end
end)
client:recv_start(function(_, data)
    if not data then
        return
    end
    done = done + 1
    if done < trips then
        client:send(message, "127.0.0.1", port)
    else
        server:close()
        client:close()
    end
end)
local start = measure.cpu_seconds()
client:send(message, "127.0.0.1", port)
uv.run()
measure.report(measure.cpu_seconds() - start, done)

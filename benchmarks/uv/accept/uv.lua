-- accept N FLIGHT: N connections, so many at a time: the server accepts and closes each, the
-- client sees the end and closes too.
local uv = require(arg[1])
local measure = require "measure"
local n, flight = tonumber(arg[2]), tonumber(arg[3])

local started, finished = 0, 0

local server, port
server, port = measure.listen_on(uv, function(err)
    assert(not err, err)
    local peer = uv.new_tcp()
    server:accept(peer)
    peer:close()
end)

local function start_one()
    started = started + 1
    local client = uv.new_tcp()
    client:connect("127.0.0.1", port, function(refused)
        assert(not refused, refused)
        client:read_start(function(_, chunk)
            if chunk then
                return
            end
            client:close()
            finished = finished + 1
            if started < n then
                start_one()
            elseif finished == n then
                server:close()
            end
        end)
    end)
end

local start = measure.cpu_seconds()
for _ = 1, math.min(n, flight) do
    start_one()
end
uv.run()
measure.report(measure.cpu_seconds() - start, finished)

-- short N FLIGHT: N short connections, so many at a time: a request, an answer, both ends close.
-- Every connection has callbacks of its own, as programs write them.
local uv = require(arg[1])
local measure = require "measure"
local n, flight = tonumber(arg[2]), tonumber(arg[3])

local started, finished = 0, 0

local server, port
server, port = measure.listen_on(uv, function(err)
    assert(not err, err)
    local peer = uv.new_tcp()
    server:accept(peer)
    peer:read_start(function(_, request)
        if not request then
            return
        end
        peer:write("answer to " .. #request, function()
            peer:shutdown(function()
                peer:close()
            end)
        end)
    end)
end)

local function start_one()
    started = started + 1
    local client, answer = uv.new_tcp(), ""
    client:connect("127.0.0.1", port, function(refused)
        assert(not refused, refused)
        client:write("request", function(err)
            assert(not err, err)
        end)
        client:read_start(function(_, chunk)
            if chunk then
                answer = answer .. chunk
                return
            end
            client:close(function()
                assert(answer == "answer to 7")
                finished = finished + 1
                if started < n then
                    start_one()
                elseif finished == n then
                    server:close()
                end
            end)
        end)
    end)
end

local start = measure.cpu_seconds()
for _ = 1, math.min(n, flight) do
    start_one()
end
uv.run()
measure.report(measure.cpu_seconds() - start, finished)

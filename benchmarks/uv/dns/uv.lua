-- dns N: the addresses of a host given as a number, N times, four at a time.
local uv = require(arg[1])
local measure = require "measure"
local n = tonumber(arg[2])

local started, done = 0, 0
local HINTS = { socktype = "stream", numerichost = true }
local function start_one()
    started = started + 1
    assert(uv.getaddrinfo("127.0.0.1", "80", HINTS, function(err, list)
        assert(not err, err)
        assert(list[1].addr == "127.0.0.1" and list[1].port == 80)
        done = done + 1
        if started < n then
            start_one()
        end
    end))
end
local start = measure.cpu_seconds()
for _ = 1, 4 do
    start_one()
end
uv.run()
measure.report(measure.cpu_seconds() - start, done)

-- A client that stands still says so itself: another may have stopped it while it slept.
local load = require "spec.support.load"

local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

-- Stops its own thread for 0.3 s, from outside.
local STOPPED = [[
    init = function()
        local stat = io.open "/proc/self/stat"
        local pid = stat:read "*n"
        stat:close()
        os.execute(("(sleep 0.3; kill -STOP %d; sleep 0.3; kill -CONT %d) &"):format(pid, pid))
    end
]]

local BUSY = [[
    local clock, n = os.clock, 0
    request = function()
        n = n + 1
        if n == 50 then
            local until_then = clock() + 0.05
            while clock() < until_then do end
        end
        return wrk.format()
    end
]]


-- The longest time that a run's thread was away, and the longest lag of its loop, in ms.
local function longest_stop(script, more, stall)
    local run
    load.with_server(function(peer)
        while peer:receive() do
            if stall then
                stall()
            end
            peer:send(OK)
        end
    end, function(path)
        run = load.run(load.job(path, more), script)
    end)
    assert.same({}, run:errors())
    local longest, lag = 0, 0
    for _, line in ipairs(run:all "load_slice") do
        lag = math.max(lag, line.lag_max_ns / 1e6)
        for _, ns in ipairs(line.stops_ns or {}) do
            longest = math.max(longest, ns / 1e6)
        end
    end
    return longest, lag
end


describe("a client that stands still", function()
    it("tells of it with a rate, when it sleeps mostly", function()
        local ms = longest_stop(STOPPED, { rate = 100, duration_ns = 1e9 })
        assert.is_true(ms > 250, ms)
    end)

    it("tells of it in a closed loop", function()
        local ms = longest_stop(STOPPED, { duration_ns = 1e9 })
        assert.is_true(ms > 250, ms)
    end)

    it("tells of it when a script kept it busy", function()
        local ms = longest_stop(BUSY, { rate = 500, duration_ns = 3e8 })
        assert.is_true(ms > 45, ms)
    end)

    it("calls it lag, also where no other request became due meanwhile", function()
        local ms, lag = longest_stop(BUSY, { rate = 500, requests = 50, duration_ns = 1e10 })
        assert.is_true(ms > 45, ms)
        assert.is_true(lag > 45, lag)
    end)

    it("does not call a server's stall its own", function()
        local ms = longest_stop("", { connections = 1, duration_ns = 1e8 }, function()
            os.execute "sleep 1"
        end)
        assert.is_true(ms < 500, ms)
    end)
end)

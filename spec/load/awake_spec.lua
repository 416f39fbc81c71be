-- In an open loop a thread that has a processor to spare waits awake for the next answer, and says
-- for how long.
local kernel = require "moonlap.load.kernel"
local load = require "spec.support.load"

local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

describe("a thread that waits for an answer", function()
    local function spun(more)
        local run
        load.with_server(function(peer)
            while peer:receive() and peer:send(OK) do -- luacheck: ignore
            end
        end, function(path)
            run = load.run(load.job(path, more), "")
        end)
        assert.same({}, run:errors())
        assert.is_true(run:sum "responses" > 0)
        return run:sum "spun_ns", run:sum "cpu_ns"
    end

    it("is awake with a rate where there is a processor to spare", function()
        local online, allowed = kernel.processors()
        assert.is_true(online >= allowed and allowed >= 1)
        assert.equal(online > 1, spun { connections = 4, rate = 500, duration_ns = 5e8 } > 0)
    end)

    it("sleeps in a closed loop", function()
        assert.equal(0, (spun { connections = 4, requests = 200, duration_ns = 5e9 }))
    end)
end)

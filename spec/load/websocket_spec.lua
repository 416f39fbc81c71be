-- WebSocket against a server that echoes, and such that do not.
local ffi = require "ffi"
local connection = require "moonlap.load.connection"
local counters = require "moonlap.load.counters"
local exchange = require "moonlap.load.exchange"
local hostile = require "spec.support.hostile"
local load = require "spec.support.load"
local timers = require "moonlap.load.timers"
local websocket = require "moonlap.load.websocket"

local UPGRADE = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
    .. "Connection: Upgrade\r\n\r\n"


-- The payload of the next frame of a client; nil at the end.
local function receive(peer)
    local function need(n)
        while #peer.text < n do
            if not peer:fill() then
                return false
            end
        end
        return true
    end
    if not need(2) then
        return nil
    end
    local size, at = peer.text:byte(2) - 128, 3
    if size == 126 then
        need(4)
        size, at = peer.text:byte(3) * 256 + peer.text:byte(4), 5
    end
    if not need(at + 3 + size) then
        return nil
    end
    local mask = { peer.text:byte(at, at + 3) }
    local out = {}
    for i = 1, size do
        out[i] = string.char(bit.bxor(peer.text:byte(at + 3 + i), mask[1 + (i - 1) % 4]))
    end
    peer.text = peer.text:sub(at + 4 + size)
    return table.concat(out)
end


local function frame(opcode, payload)
    local n = #payload
    return string.char(opcode) .. (n < 126 and string.char(n)
        or string.char(126, math.floor(n / 256), n % 256)) .. payload
end


local function echo(peer)
    if not peer:receive():find("Sec-WebSocket-Key: ", 1, true) then
        return
    end
    peer:send(UPGRADE)
    local count = 0
    while true do
        local message = receive(peer)
        if not message then
            return
        end
        count = count + 1
        if count % 3 == 0 then -- a ping, and the message in two pieces
            local half = math.floor(#message / 2)
            peer:send(frame(128 + 9, "?") .. frame(1, message:sub(1, half))
                .. frame(128, message:sub(half + 1)))
            assert(receive(peer) == "?")
        else
            peer:send(frame(129, message))
        end
    end
end


local function run(serve, more, script)
    local done
    load.with_server(serve, function(path)
        more.protocol, more.url = "websocket", "ws://localhost/chat"
        done = load.run(load.job(path, more), script)
    end)
    assert.equal(0, done.status, done.stderr)
    return done
end


-- A thread with one connection that waits for an upgrade and a message; its socket takes everything
-- and says nothing.
local function new_conn()
    local side = {
        counters = counters.new(), batch = 1, streams = 0, sending = false, flying = 1, open = 1,
        addresses = {}, free = {}, free_first = 0, free_last = -1, size = 2, tls = false,
    }
    local self = { ending = true, timers = timers.new(), timeout_ns = 1e9, hook = { [0] = 0 } }
    websocket.attach(side, { path = "/", headers = {} }, false)
    local conn = connection.new(side, 0)
    conn.state, conn.pending, conn.user = connection.OPEN, 1, {}
    local send, proceed = exchange.transmit_more, exchange.proceed
    exchange.transmit_more, exchange.proceed = function() end, function() end
    side.hello(self, conn)
    return self, conn, function() exchange.transmit_more, exchange.proceed = send, proceed end
end


describe("WebSocket in the load engine", function()
    it("fails in words, and keeps no more than came, whatever comes", function()
        local good = UPGRADE .. frame(128 + 9, "?") .. frame(1, "half") .. frame(128 + 10, "")
            .. frame(128, " and half") .. frame(128 + 8, "\3\232")
        local answered, failed = 0, 0
        hostile.each(function(seed)
            local text, from = good, seed % 2 == 0 and #UPGRADE or 0
            for _ = 1, math.random(0, 4) do
                local at = from + math.random(#text - from)
                text = text:sub(1, at - 1) .. string.char(math.random(0, 255)) .. text:sub(at + 1)
            end
            local self, conn, restore = new_conn()
            local made = conn.made
            while #text > 0 and conn.made == made do
                local n = math.random(#text)
                local bytes = ffi.new("uint8_t[?]", n + 1, text:sub(1, n))
                conn.side.take(self, conn, ffi.cast("const uint8_t *", bytes), n)
                text = text:sub(n + 1)
            end
            restore()
            assert.is_true(conn.have + #conn.message <= #good)
            answered = answered + conn.side.counters.responses
            for kind, count in pairs(conn.side.counters.errors) do
                assert.is_truthy(({ protocol = 1, reset = 1 })[kind], kind)
                failed = failed + count
            end
        end)
        assert.is_true(answered > 100 and failed > 100, answered .. " answered, " .. failed
            .. " failed")
    end)

    it("sends the body, or what request() returns, and gets it back", function()
        local done = run(echo, { requests = 50, duration_ns = 2e10, body = "hello" })
        assert.same({}, done:errors())
        assert.equal(50, done:sum "responses")

        done = run(echo, { requests = 50, duration_ns = 2e10 }, [[
            local sent
            request = function(conn)
                conn.sent = ("%d"):format(math.random(1e9)):rep(math.random(1, 40))
                return conn.sent
            end
            response = function(status, headers, body, conn)
                if body ~= conn.sent then error("another message than was sent") end
            end
        ]])
        assert.same({}, done:errors())
        assert.equal(50, done:sum "responses")
    end)

    it("says why there is no WebSocket", function()
        local done = run(function(peer)
            peer:receive()
            peer:send "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        end, {})
        assert.equal("the server does not upgrade to WebSocket: status 404", done:texts "protocol")
        done = run(function(peer) peer:receive() end, {})
        assert.equal("the server closed before it upgraded", done:texts "reset")
        done = run(function(peer)
            peer:receive()
            peer:send(UPGRADE .. "\255\255\255\255\255")
            receive(peer)
        end, {})
        assert.is_true(done:errors().protocol > 0)
    end)
end)

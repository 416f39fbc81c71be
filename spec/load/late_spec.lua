-- Answers that are there and must not be lost: judged late, told of by one edge, behind bytes that
-- still wait to be sent. Each conversation is a pair of sockets, and no time passes.
local ffi = require "ffi"
local connection = require "moonlap.load.connection"
local counters = require "moonlap.load.counters"
local exchange = require "moonlap.load.exchange"
local kernel = require "moonlap.load.kernel"
local loop = require "moonlap.load.loop"
local reading = require "moonlap.load.reading"
local response = require "moonlap.load.response"
local timers = require "moonlap.load.timers"
local tls = require "moonlap.load.tls"
require "moonlap.load.pipe" -- declares socketpair

local C = ffi.C
ffi.cdef "int shutdown(int, int);"

local AF_UNIX, STREAM_NONBLOCK, SHUT_WR = 1, 1 + 0x800, 1
local EPOLLIN, EPOLLOUT, EPOLLRDHUP = 1, 4, 0x2000
local TIMEOUT = 1e9
local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

local open_fds = {}


-- A thread with one connection whose batch went out at 0, and the server's end of it.
local function new_conn(batch)
    local fds = ffi.new "int[2]"
    assert(C.moonlap_load_socketpair(AF_UNIX, STREAM_NONBLOCK, 0, fds) == 0)
    local head, keep = response.new()
    local side = {
        counters = counters.new(), head = head, keep = keep, wants_body = false, batch = batch,
        is_head = false, streams = 0, sending = false, flying = 1, open = 1, addresses = {},
        free = {}, free_first = 0, free_last = -1, size = 2, tls = false,
    }
    local conn = connection.new(side, 0)
    conn.state, conn.pending, conn.fd = connection.OPEN, batch, fds[0]
    local self = {
        ending = true, timers = timers.new(), timeout_ns = TIMEOUT, scan_ns = 5e7,
        hook = { [0] = 0 }, conns = { [0] = conn }, last_conn = 0, next_scan = 0,
    }
    open_fds[#open_fds + 1] = conn
    open_fds[#open_fds + 1] = fds[1]
    return self, conn, fds[1]
end


local function say(fd, text)
    assert.equal(#text, kernel.send(fd, ffi.cast("const char *", text), #text))
end


-- A scan at a time; on time, unless it was due earlier.
local function scan(self, t, due)
    self.next_scan = due or t
    loop.scan(self, t)
end


describe("an answer that is there", function()
    after_each(function()
        for _, one in ipairs(open_fds) do
            if type(one) == "table" then
                connection.close(one)
            else
                C.moonlap_load_end(one)
            end
        end
        open_fds = {}
    end)

    it("is read before its request is called overdue", function()
        local self, conn, peer = new_conn(2)
        say(peer, OK .. OK)
        scan(self, 5 * TIMEOUT)
        assert.same({}, conn.side.counters.errors)
        assert.equal(2, conn.side.counters.responses)
        assert.equal(0, conn.side.flying)
    end)

    it("is overdue where it is not all there", function()
        local self, conn, peer = new_conn(2)
        say(peer, OK .. "HTTP/1.1")
        scan(self, TIMEOUT - 1)
        assert.same({}, conn.side.counters.errors)
        scan(self, TIMEOUT)
        assert.same({ timeout = 1 }, conn.side.counters.errors)
        assert.equal(1, conn.side.counters.responses)
    end)

    it("has the time in which the thread stood still, and no more", function()
        local self, conn, peer = new_conn(1)
        scan(self, 3.5 * TIMEOUT, TIMEOUT / 2) -- the machine gave neither side a turn
        assert.same({}, conn.side.counters.errors)
        scan(self, 4 * TIMEOUT - 1)
        say(peer, OK)
        scan(self, 4 * TIMEOUT)
        assert.same({}, conn.side.counters.errors)
        assert.equal(1, conn.side.counters.responses)

        self, conn = new_conn(1)
        scan(self, 3.5 * TIMEOUT, TIMEOUT / 2)
        scan(self, 4 * TIMEOUT)
        assert.same({ timeout = 1 }, conn.side.counters.errors)
    end)

    it("is not waited for longer because the thread stood still before its request", function()
        local self, conn = new_conn(1)
        scan(self, 3.5 * TIMEOUT, TIMEOUT / 2)
        conn.sent = 3.6 * TIMEOUT
        scan(self, 4.6 * TIMEOUT)
        assert.same({ timeout = 1 }, conn.side.counters.errors)
    end)

    it("is not waited for without end where every turn is late", function()
        local self, conn = new_conn(1)
        for i = 1, 7 do
            scan(self, i * TIMEOUT / 2, (i - 1) * TIMEOUT / 2 + self.scan_ns)
        end
        assert.same({ timeout = 1 }, conn.side.counters.errors)
    end)

    it("is told of by the edge that tells of the connection, an end too", function()
        local self, conn, peer = new_conn(1)
        conn.state, conn.pending, conn.side.open, conn.side.flying = 1, 0, 0, 0
        conn.side.sending, conn.side.text, conn.side.quota = true, "GET / HTTP/1.1\r\n\r\n", 1
        say(peer, OK)
        C.shutdown(peer, SHUT_WR)
        reading.on_event(self, conn, EPOLLIN + EPOLLOUT + EPOLLRDHUP)
        assert.same({}, conn.side.counters.errors)
        assert.equal(1, conn.side.counters.responses)
        assert.equal(connection.CLOSED, conn.state)
    end)

    it("is no loss of the batch's rest that waits to be sent", function()
        local self, conn, peer = new_conn(2)
        conn.out, conn.out_at = "GET / HTTP/1.1\r\n\r\n", 0
        say(peer, OK)
        reading.on_event(self, conn, EPOLLIN)
        assert.same({}, conn.side.counters.errors)
        assert.equal(1, conn.pending)
        reading.on_event(self, conn, EPOLLOUT)
        assert.is_false(conn.out)
        say(peer, OK)
        reading.on_event(self, conn, EPOLLIN)
        assert.equal(2, conn.side.counters.responses)
    end)

    it("is no loss of HTTP/2 frames that wait to be sent", function()
        local self, conn = new_conn(1)
        conn.side.streams, conn.pending, conn.side.flying = 2, 2, 2
        conn.side.may_start = function() return false end
        conn.out = "frames"
        exchange.complete(self, conn, 200, 1, nil, 0, "")
        assert.same({}, conn.side.counters.errors)
        exchange.complete(self, conn, 200, 1, nil, 0, "")
        assert.equal(connection.OPEN, conn.state)
        assert.equal("frames", conn.out)
    end)

    it("is looked for in the socket when a read was as long as there was room for", function()
        local _, conn, peer = new_conn(1)
        say(peer, ("x"):rep(65536 + 7))
        local pending = 0 -- bytes in OpenSSL's memory
        local session = setmetatable({ library = {
            BIO_write = function(_, _, n) pending = pending + n end,
            BIO_ctrl_pending = function() return pending end,
            SSL_has_pending = function() return 0 end,
            SSL_read = function()
                local n = pending
                pending = 0
                return n
            end,
        } }, { __index = tls })
        conn.tls_rest, conn.tls_more = false, false
        assert.equal(65536, session:read(conn, nil, 65536))
        assert.is_true(session:more(conn))
        assert.equal(7, session:read(conn, nil, 65536))
        assert.is_false(session:more(conn))
    end)
end)

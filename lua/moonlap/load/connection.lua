--- A connection's life: it connects, fails, waits, and connects again.
--
-- A connection is a table, a new socket each time. What it sends and receives while it is open is
-- the matter of `exchange` and `reading`.
-- @module moonlap.load.connection
local ffi = require "ffi"
local counters = require "moonlap.load.counters"
local kernel = require "moonlap.load.kernel"
local socket = require "moonlap.load.socket"

local _M = {}

local now = kernel.now
local count_error = counters.error

-- What a connection's socket is.
local CLOSED, CONNECTING, HANDSHAKE, OPEN = 0, 1, 2, 3
_M.CLOSED, _M.CONNECTING, _M.HANDSHAKE, _M.OPEN = CLOSED, CONNECTING, HANDSHAKE, OPEN

local HEAD = 0 -- a response begins next: see reading

local ECONNREFUSED, ECONNRESET, EPIPE = 111, 104, 32
local LEAST_PAUSE, MOST_PAUSE = 1e6, 1e9 -- ns, before connecting again after a failure

ffi.cdef "char *strerror(int);"

local connect
local exchange -- which stands on this module, and has what an open connection does next


--- Names the module that sends.
function _M.bind(module)
    exchange = module
end


--- A connection that is not open yet.
function _M.new(side, id)
    return {
        id = id, side = side, fd = -1, made = 0, state = CLOSED,
        sent = 0, due = 0, pending = 0, since = 0, tries = 0, wake = 0, queued = false,
        phase = HEAD, status = 0, left = 0, keepalive = 1, head_text = "", body_size = 0,
        is_head = false, heads = false, answered = 0, surplus = false,
        chunks = false, stash = false, room = 0, have = 0, pieces = false,
        out = false, out_at = 0, tls = false, idle = false, pause = false,
        tls_in = false, tls_out = false, tls_rest = false, tls_more = false, tls_full = false,
        away_since = 0, away = 0,
        tag = false, user = false, sink = false, co = nil, answer = nil, trouble = nil,
            begun = false,
    }
end


-- Ends the socket; what was under way on it is lost.
local function close(conn)
    if conn.pending > 0 then
        conn.side.flying = conn.side.flying - (conn.side.streams > 0 and conn.pending or 1)
        conn.pending = 0
    end
    if conn.tls then
        conn.side.tls:close(conn)
    end
    if conn.fd >= 0 then
        socket.close(conn.fd)
        conn.fd = -1
    end
    if conn.state == OPEN then
        conn.side.open = conn.side.open - 1
    end
    conn.state, conn.phase, conn.have, conn.out, conn.pieces = CLOSED, HEAD, 0, false, false
    conn.idle, conn.wake, conn.tag, conn.pause, conn.surplus = false, 0, false, false, false
    conn.made = (conn.made + 1) % 2 ^ 31 -- what else the socket said is not looked at
end


--- Has the thread come back to a connection: to connect, or to send its next request.
function _M.wake(self, conn, at)
    conn.wake = at
    self.timers:push(at, conn)
end

local wake = _M.wake


-- Connects again, after a pause where attempts fail.
local function reconnect(self, conn, t, pause)
    if pause and not self.ending then
        wake(self, conn, t + pause)
    elseif not self.ending then
        connect(self, conn, t)
    end
end


local function pause_of(conn)
    local tries = conn.tries
    conn.tries = tries + 1
    local pause = LEAST_PAUSE * 2 ^ math.min(tries, 20)
    return math.min(pause, MOST_PAUSE) * (0.75 + 0.5 * (conn.id * 0.618034 % 1))
end


-- A timeout's wait is a latency like any other: it is in the histograms.
local function record_wait(conn, t)
    local side = conn.side
    local n = side.counters
    local function record(sent, due)
        n.raw:record(t - sent)
        n.sum = n.sum + (t - sent)
        if side.pace then
            n.latency:record(t - due)
        end
    end
    if side.streams > 0 then
        return side.each_wait(conn, record)
    end
    for _ = 1, conn.pending do
        record(conn.sent, conn.due)
    end
end


-- How many requests fail with a connection: all that are under way. The one whose response() threw
-- is not among these any more.
local function lost_with(conn, kind)
    return kind == "script" and conn.phase == HEAD and 1 + conn.pending or math.max(1, conn.pending)
end


--- What was under way failed: counts it, and connects again.
function _M.fail(self, conn, kind, text, t)
    local side = conn.side
    count_error(side.counters, kind, text, lost_with(conn, kind))
    if conn.tag then
        local tag = counters.tag(side.counters, conn.tag)
        tag.errors = tag.errors + 1
    end
    if kind == "timeout" and conn.pending > 0 then
        record_wait(conn, t)
    end
    local fruitless = conn.answered == 0 or conn.state < OPEN
    if side.quota and side.sending and conn.answered == 0 and conn.pending == 0 then
        -- A request that no connection could be had for is one of the number that was asked for.
        side.quota = side.quota - 1
        side.sending = side.quota > 0
    end
    close(conn)
    if side.on_failure then
        side.on_failure(conn, kind, text)
    end
    reconnect(self, conn, t, fruitless and pause_of(conn) or nil)
end

local fail = _M.fail


local function words(number)
    return ffi.string(ffi.C.strerror(number))
end

local function fail_socket(self, conn, number, t, when)
    if number == ECONNREFUSED then
        fail(self, conn, "refused", words(number), t)
    elseif number == ECONNRESET or number == EPIPE then
        fail(self, conn, "reset", when .. ": " .. words(number), t)
    else
        fail(self, conn, conn.state < OPEN and "connect" or when, words(number), t)
    end
end


--- A new socket for a connection that has nothing under way.
function _M.reopen(self, conn, t)
    close(conn)
    return reconnect(self, conn, t)
end


-- The socket is connected, and its TLS session too where there is one.
local function opened(self, conn)
    local t = now()
    local side = conn.side
    conn.state, conn.idle, conn.answered = OPEN, false, 0
    side.open = side.open + 1
    side.counters.connects = side.counters.connects + 1
    side.counters.connect_ns = side.counters.connect_ns + (t - conn.since)
    if side.on_open then
        side.on_open(conn)
    end
    if side.hello then
        side.hello(self, conn)
        return not side.is_ready and exchange.fill(self, conn, t)
    end
    return exchange.proceed(self, conn, t)
end


local function shake_hands(self, conn)
    local done = conn.side.tls:handshake(conn)
    if done == nil then
        return fail(self, conn, "tls", conn.side.tls.problem or "the handshake failed", now())
    elseif done then
        return opened(self, conn)
    end
end


local function connected(self, conn)
    if conn.side.tls then
        conn.state = HANDSHAKE
        if not conn.side.tls:open(conn) then
            return fail(self, conn, "tls", conn.side.tls.problem, now())
        end
        return shake_hands(self, conn)
    end
    return opened(self, conn)
end


--- Opens a connection's socket.
function connect(self, conn, t)
    local side = conn.side
    conn.since, conn.state = t, CONNECTING
    local list = side.addresses
    local fd, at_once = socket.connect(list[1 + (conn.id + conn.made) % #list])
    if fd < 0 then
        return fail_socket(self, conn, -fd, t, "connect")
    end
    conn.fd = fd
    if not socket.watch(self.epoll, fd, conn.id, conn.made) then
        return fail(self, conn, "connect", "epoll refuses the socket", t)
    end
    if at_once then
        return connected(self, conn)
    end
end

_M.connect = connect


--- The time for which @{wake} was asked has come.
function _M.on_wake(self, conn, t)
    conn.wake = 0
    if conn.state == CLOSED then
        return connect(self, conn, t)
    elseif conn.pending == 0 and conn.state == OPEN and not conn.idle then
        if conn.side.sending then
            return exchange.issue(self, conn, t, t)
        end
        return exchange.rest(conn.side, conn)
    end
end


-- When the oldest of a connection's streams was sent. A function of its own, because closures
-- keep their surroundings from being compiled.
local function oldest_of(conn)
    local oldest = conn.sent
    conn.side.each_wait(conn, function(sent)
        oldest = sent < oldest and sent or oldest
    end)
    return oldest
end


-- Whether what began at a time has had its time: the timeout, and the longest that this thread
-- stood still since then. `away` is how long it just did.
local function is_over(self, conn, begun, t, away)
    if conn.away_since ~= begun then
        conn.away_since, conn.away = begun, 0
    end
    if away > conn.away then
        conn.away = away
    end
    return t - begun >= self.timeout_ns + conn.away
end


--- Whether a request, or an attempt to connect, has taken too long: the words for it, or nil.
-- @tparam table self the thread
-- @tparam table conn a connection
-- @tparam number t now
-- @tparam number away ns that the thread stood still until now, 0 for none
function _M.overdue(self, conn, t, away)
    if conn.state == OPEN then
        local sent = conn.sent
        if conn.side.streams > 0 and conn.pending > 0 then
            sent = oldest_of(conn)
        end
        if conn.pending > 0 then
            return is_over(self, conn, sent, t, away) and "no complete response in time" or nil
        elseif conn.side.is_ready and not conn.side.is_ready(conn) then
            return is_over(self, conn, conn.since, t, away) and "no upgrade in time" or nil
        end
    elseif conn.state ~= CLOSED then
        return is_over(self, conn, conn.since, t, away) and "no connection in time" or nil
    end
end


_M.close, _M.reconnect, _M.pause_of, _M.fail_socket = close, reconnect, pause_of, fail_socket
_M.shake_hands, _M.connected = shake_hands, connected


return _M

--- Requests out, responses in: what a connection does. The thread's loop calls @{on_event}.
--
-- A connection is a table. Its socket is registered once and edge-triggered: a response that is
-- complete is followed by the next request at once, and a read that brought less than there was
-- room for is not repeated.
-- @module moonlap.load.exchange
local bit = require "bit"
local ffi = require "ffi"
local chunked = require "moonlap.load.chunked"
local counters = require "moonlap.load.counters"
local kernel = require "moonlap.load.kernel"
local response = require "moonlap.load.response"
local socket = require "moonlap.load.socket"

local _M = {}

local band = bit.band
local now, read, send = kernel.now, kernel.read, kernel.send
local read_head = response.read
local read_chunks = chunked.read
local count_error = counters.error
local type = type

local NONE, LENGTH, CHUNKED = response.NONE, response.LENGTH, response.CHUNKED

-- What a connection's socket is.
local CLOSED, CONNECTING, HANDSHAKE, OPEN = 0, 1, 2, 3
_M.CLOSED, _M.CONNECTING, _M.HANDSHAKE, _M.OPEN = CLOSED, CONNECTING, HANDSHAKE, OPEN

-- Which part of a response is next.
local HEAD, BODY, CHUNKS, REST = 0, 1, 2, 3

local EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR, EPOLLRDHUP = 0x1, 0x4, 0x10, 0x8, 0x2000
local EAGAIN, ECONNREFUSED, ECONNRESET, EPIPE, EINTR = 11, 111, 104, 32, 4

local SIZE = 65536
local MOST_HEAD = 81920         -- as wrk's parser allows
local MOST_BODY = 256 * 2 ^ 20  -- that a script gets to see
local LEAST_PAUSE, MOST_PAUSE = 1e6, 1e9 -- ns, before connecting again after a failure
local LATE = 1e6                -- ns

local buffer = ffi.new("uint8_t[?]", SIZE)
local bytes = ffi.cast("const uint8_t *", buffer)

local connect, proceed


--- A connection that is not open yet.
function _M.new(side, id)
    return {
        id = id, side = side, fd = -1, made = 0, state = CLOSED,
        sent = 0, due = 0, pending = 0, since = 0, tries = 0, wake = 0, queued = false,
        phase = HEAD, status = 0, left = 0, keepalive = 1, head_text = "", body_size = 0,
        is_head = false, heads = false, answered = 0,
        chunks = false, stash = false, room = 0, have = 0, pieces = false,
        out = false, out_at = 0, tls = false, idle = false, pause = false,
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
    conn.idle, conn.wake, conn.tag, conn.pause = false, 0, false, false
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


--- What was under way failed: counts it, and connects again.
function _M.fail(self, conn, kind, text, t)
    local side = conn.side
    count_error(side.counters, kind, text)
    if conn.tag then
        local tag = counters.tag(side.counters, conn.tag)
        tag.errors = tag.errors + 1
    end
    if kind == "timeout" and conn.pending > 0 then
        record_wait(conn, t)
    end
    local fruitless = conn.answered == 0 or conn.state < OPEN
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

ffi.cdef "char *strerror(int); void *memmove(void *, const void *, size_t);"


local function fail_socket(self, conn, number, t, when)
    if number == ECONNREFUSED then
        fail(self, conn, "refused", words(number), t)
    elseif number == ECONNRESET or number == EPIPE then
        fail(self, conn, "reset", when .. ": " .. words(number), t)
    else
        fail(self, conn, conn.state < OPEN and "connect" or when, words(number), t)
    end
end


-- Bytes out: those that the socket did not take wait for it to be writable.
local function transmit(self, conn, text, at)
    local size = #text - at
    local data = ffi.cast("const uint8_t *", text) + at
    local n
    if conn.tls then
        n = conn.side.tls:write(conn, data, size)
    else
        n = send(conn.fd, data, size)
    end
    if n == size then
        conn.out = false
        return
    end
    if n == -EAGAIN or n == -EINTR or n > 0 then
        conn.out, conn.out_at = text, n > 0 and at + n or at
        if n > 0 then -- less than asked for: ask again, or no edge will come
            return transmit(self, conn, text, at + n)
        end
        return
    end
    local t = now()
    if conn.tls and n ~= -ECONNRESET and n ~= -EPIPE then
        return fail(self, conn, "tls", conn.side.tls.problem or "writing failed", t)
    end
    fail_socket(self, conn, -n, t, "write")
end


--- Sends bytes behind those that wait already.
function _M.transmit_more(self, conn, text)
    if conn.out then
        conn.out, conn.out_at = conn.out:sub(conn.out_at + 1) .. text, 0
        return
    end
    return transmit(self, conn, text, 0)
end


-- Which requests of a batch are HEAD, whose responses have no body: false for none.
local function heads_of(text, batch)
    if not text:find("HEAD ", 1, true) then
        return false
    end
    local list, at = {}, 1
    for i = 1, batch do
        list[i] = text:sub(at, at + 4) == "HEAD "
        local _, stop = text:find("\r\n\r\n", at, true)
        if not stop then
            break
        end
        local length = text:sub(at, stop):lower():match "\r\ncontent%-length: *(%d+)"
        at = stop + 1 + (tonumber(length) or 0)
    end
    return list
end

_M.heads_of = heads_of


--- Sends the next request.
-- @tparam table self the thread
-- @tparam table conn a connection that is open, with nothing under way
-- @tparam number t now
-- @tparam number due when it was due: `t` in a closed loop
local function issue(self, conn, t, due)
    local side = conn.side
    local text = side.text
    if not text then
        self.hook[0], self.current = 1, conn
        text = side.request(conn)
        self.hook[0] = 0
        if type(text) ~= "string" or #text == 0 then
            return side.no_request(self, conn, text, t)
        end
        -- 72: H
        conn.heads = (text:byte(1) == 72 or side.batch > 1) and heads_of(text, side.batch)
    end
    if side.streams > 0 then
        return side.start(self, conn, text, t, due)
    end
    local batch = side.batch
    local n = side.counters
    n.requests = n.requests + batch
    conn.sent, conn.due, conn.pending = t, due, batch
    side.flying = side.flying + 1
    transmit(self, conn, text, 0)
end

_M.issue = issue


-- The next request of an open loop, when it is due, or nil.
local function take_due(self, side, t)
    local pace = side.pace
    local due = self.origin + pace.due
    if due > t or due >= side.until_ns then
        return nil
    elseif side.quota then
        if side.quota <= 0 then
            side.sending = false
            return nil
        end
        side.quota = side.quota - side.batch
    end
    pace:next()
    local n = side.counters
    if t - due > LATE then
        n.late = n.late + 1
    end
    return due
end

_M.take_due = take_due


local function rest(side, conn)
    conn.idle = true
    if not conn.queued then
        conn.queued = true
        local last = side.free_last + 1
        side.free_last = last
        side.free[last % side.size] = conn
    end
end


_M.rest = rest


--- The connection that has been idle for longest, or nil.
function _M.first_idle(side)
    while side.free_first <= side.free_last do
        local conn = side.free[side.free_first % side.size]
        if conn.idle and (side.streams == 0 or side.may_start(conn)) then
            return conn
        end
        side.free_first, conn.queued = side.free_first + 1, false -- it was closed meanwhile
    end
    return nil
end


--- Takes @{first_idle} out of the queue.
function _M.take_idle(side, conn)
    side.free_first, conn.queued, conn.idle = side.free_first + 1, false, false
end


--- Something to do for a connection that is open with nothing under way: the next request now,
-- later, or none.
function proceed(self, conn, t)
    local side = conn.side
    if side.streams > 0 and not side.may_start(conn) then
        return
    elseif side.pace then
        local due = side.sending and take_due(self, side, t)
        if due then
            return issue(self, conn, t, due)
        end
        return rest(side, conn)
    elseif not side.sending then
        return rest(side, conn)
    elseif side.quota then
        if side.quota <= 0 then
            side.sending = false
            return rest(side, conn)
        end
        side.quota = side.quota - side.batch
    end
    if side.delay then
        return side.delay(self, conn, t)
    end
    return issue(self, conn, t, t)
end

_M.proceed = proceed


-- A response is complete.
local function complete(self, conn, status, keepalive, head, head_size, body)
    local side = conn.side
    local t = now()
    local n = side.counters
    n.responses = n.responses + 1
    local raw = t - conn.sent
    n.raw:record(raw)
    n.sum = n.sum + raw
    if side.pace then
        n.latency:record(t - conn.due)
    end
    if status > 399 then
        n.status = n.status + 1
    end
    local pending = conn.pending - 1
    conn.pending = pending
    conn.answered = 1
    conn.tries = 0
    if pending == 0 or side.streams > 0 then
        side.flying = side.flying - 1
    end
    if conn.tag then
        local tag = counters.tag(n, conn.tag)
        tag.count = tag.count + 1
        tag.latency:record(t - conn.due)
    end
    if side.respond then
        self.hook[0], self.current = 2, conn
        side.respond(conn, status, head, head_size, body)
        self.hook[0] = 0
    end
    if keepalive == 0 or conn.out then
        if pending > 0 then
            -- The server closes before it has answered all: the rest of the batch is lost.
            return fail(self, conn, "reset", "the server closes with requests unanswered", t)
        end
        close(conn)
        return reconnect(self, conn, t)
    end
    if pending == 0 or side.streams > 0 then
        return proceed(self, conn, t)
    end
end

_M.complete = complete


--- One of a connection's streams failed, and the others go on.
function _M.lose_stream(self, conn, text)
    local side = conn.side
    count_error(side.counters, "reset", text)
    conn.pending = conn.pending - 1
    side.flying = side.flying - 1
    return proceed(self, conn, now())
end


--- Whether another request may go out on a connection.
function _M.has_room(conn)
    return conn.state == OPEN
        and (conn.side.streams > 0 and conn.side.may_start(conn) or conn.pending == 0)
end


--- As many requests as a connection has room for.
function _M.fill(self, conn, t)
    local made = conn.made
    repeat
        local before = conn.pending
        if not _M.has_room(conn) then
            return
        end
        proceed(self, conn, t)
    until conn.side.streams == 0 or conn.pending <= before or conn.made ~= made
end


--- A new socket for a connection that has nothing under way.
function _M.reopen(self, conn, t)
    close(conn)
    return reconnect(self, conn, t)
end


-- Keeps bytes of a head whose end has not come.
local function stash(conn, p, n)
    if n > conn.room then
        local room = math.max(1024, conn.room)
        while room < n do
            room = room * 2
        end
        local larger = ffi.new("uint8_t[?]", room)
        ffi.copy(larger, p, n)
        conn.stash, conn.room = larger, room
    elseif p ~= conn.stash then
        ffi.C.memmove(conn.stash, p, n) -- p may be in the stash itself
    end
    conn.have = n
end


-- Bytes that belong to a head which began earlier go behind it.
local function unstash(conn, p, n)
    local have = conn.have
    if have + n > conn.room then
        local room = math.max(1024, conn.room)
        while room < have + n do
            room = room * 2
        end
        local larger = ffi.new("uint8_t[?]", room)
        ffi.copy(larger, conn.stash, have)
        conn.stash, conn.room = larger, room
    end
    ffi.copy(conn.stash + have, p, n)
    conn.have = 0
    return ffi.cast("const uint8_t *", conn.stash), have + n
end


_M.stash, _M.unstash = stash, unstash


local function gather(conn, p, n)
    local pieces = conn.pieces
    pieces[#pieces + 1] = ffi.string(p, n)
end


-- Ends a body that came in pieces.
local function finish(self, conn)
    local head_text, body = conn.head_text, ""
    local pieces = conn.pieces
    if pieces then
        body = table.concat(pieces)
        conn.pieces = false
    end
    conn.phase = HEAD
    return complete(self, conn, conn.status, conn.keepalive, ffi.cast("const uint8_t *", head_text),
        #head_text, body)
end


-- A head has come, but not all of its body: what is needed until then is kept.
local function begin_body(conn, head, p, size, wants_body)
    conn.status, conn.keepalive, conn.left, conn.body_size = head.status, head.keepalive,
        head.length, 0
    conn.head_text = conn.side.respond and ffi.string(p - size, size) or ""
    conn.pieces = wants_body and {} or false
    if head.body == CHUNKED then
        if not conn.chunks then
            conn.chunks = chunked.new()
            conn.sink = function(data, n)
                gather(conn, data, n)
            end
        end
        chunked.reset(conn.chunks)
        conn.phase = CHUNKS
    else
        conn.phase = head.body == LENGTH and BODY or REST
    end
end


-- Takes bytes of a body; how many, nil when the connection failed.
local function read_body(self, conn, p, n)
    local side = conn.side
    local used, done = n, false
    if conn.phase == BODY then
        if used > conn.left then
            used = conn.left
        end
        conn.left = conn.left - used
        done = conn.left == 0
        if conn.pieces then
            gather(conn, p, used)
        end
    elseif conn.phase == CHUNKS then
        used, done = read_chunks(conn.chunks, p, n, conn.pieces and conn.sink)
        if not used then
            return nil, done
        end
    elseif conn.pieces then
        gather(conn, p, n)
    end
    conn.body_size = conn.body_size + used
    if conn.pieces and conn.body_size > MOST_BODY then
        return nil, "a body of more than 256 MiB for a script"
    end
    if done then
        finish(self, conn)
    end
    return used, side
end


-- Whether the response that comes next is one to HEAD.
local function answers_head(conn)
    local side, heads = conn.side, conn.heads
    if heads then
        return heads[side.batch - conn.pending + 1]
    end
    return side.is_head
end


-- What follows a head: all of its body, or what there is of it. How many bytes that is.
local function feed_body(self, conn, head, p, n, size)
    local side = conn.side
    local status, body = head.status, head.body
    if status < 200 and status ~= 101 then
        return 0
    elseif body ~= NONE and (side.is_head or conn.heads) and answers_head(conn) then
        body = NONE
    end
    if body == NONE then
        complete(self, conn, status, head.keepalive, p - size, size, "")
        return 0
    elseif body == LENGTH and n >= head.length then
        local length = head.length
        complete(self, conn, status, head.keepalive, p - size, size,
            side.wants_body and ffi.string(p, length) or "")
        return length
    end
    begin_body(conn, head, p, size, side.wants_body)
    return 0
end


-- Takes bytes off a socket. Responses may begin and end anywhere in them. It calls itself for the
-- next one: a loop that mostly goes round once would keep the event loop around it from being
-- compiled.
local function feed(self, conn, p, n)
    local made = conn.made
    if conn.pending == 0 then
        return fail(self, conn, "protocol", "bytes after the response, or without a request", now())
    elseif conn.phase == HEAD then
        local head = conn.side.head
        local size, err = read_head(head, p, n)
        if not size or n > MOST_HEAD and (size == 0 or size > MOST_HEAD) then
            return fail(self, conn, "protocol", err or "a head of more than 80 KiB", now())
        elseif size == 0 then
            return stash(conn, p, n)
        end
        p, n = p + size, n - size
        local used = feed_body(self, conn, head, p, n, size)
        p, n = p + used, n - used
    else
        local used, err = read_body(self, conn, p, n)
        if not used then
            return fail(self, conn, "protocol", err, now())
        end
        p, n = p + used, n - used
    end
    if n > 0 and conn.made == made then
        return feed(self, conn, p, n)
    end
end


--- Takes bytes that came off a connection's socket.
function _M.take(self, conn, p, n)
    if conn.have == 0 then
        return feed(self, conn, p, n)
    end
    return feed(self, conn, unstash(conn, p, n))
end

local take = _M.take


-- The server has closed its end.
local function on_end(self, conn)
    local t = now()
    if conn.pending > 0 and conn.phase == REST then
        conn.keepalive = 0
        return finish(self, conn)
    elseif conn.pending > 0 then
        local midst = conn.phase ~= HEAD or conn.have > 0
        return fail(self, conn, "reset", midst and "the server closed in the midst of a response"
            or "the server closed before it answered", t)
    end
    if conn.side.is_ready and not conn.side.is_ready(conn) then
        return fail(self, conn, "reset", "the server closed before it upgraded", t)
    end
    -- Between responses a server may close: it is no error.
    close(conn)
    reconnect(self, conn, t, conn.answered == 0 and pause_of(conn) or nil)
end


_M.on_end = on_end


-- Reads until nothing is left.
local function on_readable(self, conn, mask)
    local made = conn.made
    local n
    if conn.tls then
        n = conn.side.tls:read(conn, buffer, SIZE)
    else
        n = read(conn.fd, buffer, SIZE)
    end
    if n > 0 then
        local counted = conn.side.counters
        counted.bytes = counted.bytes + n
        if conn.side.take then
            conn.side.take(self, conn, bytes, n)
        else
            take(self, conn, bytes, n)
        end
        if conn.made ~= made then
            return
        end
    elseif n == 0 then
        return on_end(self, conn)
    elseif n == -EAGAIN then
        return
    elseif n ~= -EINTR then
        if conn.tls and n ~= -ECONNRESET then
            return fail(self, conn, "tls", conn.side.tls.problem or "reading failed", now())
        end
        return fail_socket(self, conn, -n, now(), "read")
    end
    -- What is less than was asked for was all, unless the end comes behind it.
    if n == SIZE or n < 0 or conn.tls and conn.side.tls:more(conn)
        or band(mask, EPOLLRDHUP + EPOLLHUP + EPOLLERR) ~= 0 then
        return on_readable(self, conn, mask)
    end
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
        return not side.is_ready and _M.fill(self, conn, t)
    end
    return proceed(self, conn, t)
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


--- What epoll says about a connection's socket.
function _M.on_event(self, conn, mask)
    if conn.state == OPEN then
        if conn.out and band(mask, EPOLLOUT) ~= 0 then
            transmit(self, conn, conn.out, conn.out_at)
            if conn.state ~= OPEN then
                return
            end
        end
        if band(mask, EPOLLIN + EPOLLRDHUP + EPOLLHUP + EPOLLERR) ~= 0 then
            return on_readable(self, conn, mask)
        end
    elseif conn.state == CONNECTING then
        local number = socket.error(conn.fd)
        if number ~= 0 then
            return fail_socket(self, conn, number, now(), "connect")
        elseif band(mask, EPOLLOUT) ~= 0 then
            return connected(self, conn)
        end
    elseif conn.state == HANDSHAKE then
        return shake_hands(self, conn)
    end
end


--- The time for which @{wake} was asked has come.
function _M.on_wake(self, conn, t)
    conn.wake = 0
    if conn.state == CLOSED then
        return connect(self, conn, t)
    elseif conn.pending == 0 and conn.state == OPEN and not conn.idle then
        if conn.side.sending then
            return issue(self, conn, t, t)
        end
        return rest(conn.side, conn)
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


--- Lets a request, or an attempt to connect, that took too long fail.
function _M.expire(self, conn, t)
    if conn.state == OPEN then
        local sent = conn.sent
        if conn.side.streams > 0 and conn.pending > 0 then
            sent = oldest_of(conn)
        end
        if conn.pending > 0 and t - sent >= self.timeout_ns then
            fail(self, conn, "timeout", "no complete response in time", t)
        elseif conn.side.is_ready and not conn.side.is_ready(conn)
            and t - conn.since >= self.timeout_ns then
            fail(self, conn, "timeout", "no upgrade in time", t)
        end
    elseif conn.state ~= CLOSED and t - conn.since >= self.timeout_ns then
        fail(self, conn, "timeout", "no connection in time", t)
    end
end


_M.close = close


return _M

--- Requests out: the next one when a response is complete, or when it is due.
--
-- A response that is complete is followed by the next request at once, in a closed loop. In an open
-- loop connections rest until a request is due.
-- @module moonlap.load.exchange
local ffi = require "ffi"
local connection = require "moonlap.load.connection"
local counters = require "moonlap.load.counters"
local kernel = require "moonlap.load.kernel"

local _M = {}

local now, send = kernel.now, kernel.send
local close, reconnect = connection.close, connection.reconnect
local fail, fail_socket = connection.fail, connection.fail_socket
local count_error = counters.error
local type = type

local OPEN = connection.OPEN
local EAGAIN, ECONNRESET, EPIPE, EINTR = 11, 104, 32, 4
local LATE = 1e6 -- ns

local proceed


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
    if n > 0 then -- less than asked for: ask again, or no edge will come
        return transmit(self, conn, text, at + n)
    elseif n == -EINTR then
        return transmit(self, conn, text, at)
    elseif n == -EAGAIN then
        conn.out, conn.out_at = text, at
        return
    end
    local t = now()
    if conn.tls and n ~= -ECONNRESET and n ~= -EPIPE then
        return fail(self, conn, "tls", conn.side.tls.problem or "writing failed", t)
    end
    fail_socket(self, conn, -n, t, "write")
end


_M.transmit = transmit


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
    -- A request that was answered before it was sent ends its connection. The rest of a batch, and
    -- frames of HTTP/2, may wait until the server takes them.
    if keepalive == 0 or conn.out and pending == 0 and side.streams == 0 then
        if conn.surplus then
            return fail(self, conn, "protocol",
                "bytes behind the last response that was asked for", t)
        end
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


connection.bind(_M)


return _M

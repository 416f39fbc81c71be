--- Responses in: what comes off a connection's socket.
--
-- A socket is registered once, edge-triggered, and a read that brought less than there was room for
-- is not repeated.
-- @module moonlap.load.reading
local bit = require "bit"
local ffi = require "ffi"
local chunked = require "moonlap.load.chunked"
local connection = require "moonlap.load.connection"
local exchange = require "moonlap.load.exchange"
local kernel = require "moonlap.load.kernel"
local response = require "moonlap.load.response"
local socket = require "moonlap.load.socket"

local _M = {}

local band = bit.band
local now, receive = kernel.now, kernel.receive
local read_head = response.read
local read_chunks = chunked.read
local close, reconnect, pause_of = connection.close, connection.reconnect, connection.pause_of
local fail, fail_socket = connection.fail, connection.fail_socket
local complete, transmit = exchange.complete, exchange.transmit

local NONE, LENGTH, CHUNKED = response.NONE, response.LENGTH, response.CHUNKED
local CLOSED, HANDSHAKE, OPEN = connection.CLOSED, connection.HANDSHAKE, connection.OPEN

-- Which part of a response is next.
local HEAD, BODY, CHUNKS, REST = 0, 1, 2, 3

local EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR, EPOLLRDHUP = 0x1, 0x4, 0x10, 0x8, 0x2000
local READABLE = EPOLLIN + EPOLLRDHUP + EPOLLHUP + EPOLLERR
local EAGAIN, ECONNRESET, EINTR = 11, 104, 4

local SIZE = 65536
local MOST_HEAD = 81920         -- as wrk's parser allows
local MOST_BODY = 256 * 2 ^ 20  -- that a script gets to see

local buffer = ffi.new("uint8_t[?]", SIZE)
local bytes = ffi.cast("const uint8_t *", buffer)

ffi.cdef "void *memmove(void *, const void *, size_t);"


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


-- Whether a connection is kept behind a response with `left` bytes behind it. Bytes behind the last
-- one that was asked for would pass for the answer to the next request.
local function keep(conn, keepalive, left)
    if left > 0 and conn.pending == 1 then
        conn.surplus = true
        return 0
    end
    return keepalive
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
        conn.keepalive = keep(conn, conn.keepalive, n - used)
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


-- A server that switches protocols says nothing of HTTP any more.
local function switch(self, conn, head, p, n, size)
    if not conn.side.asks_upgrade then
        fail(self, conn, "protocol", "the server switches protocols, and was not asked to", now())
    else
        complete(self, conn, head.status, 0, p - size, size, "")
    end
    return n
end


-- What follows a head: all of its body, or what there is of it. How many bytes that is.
local function feed_body(self, conn, head, p, n, size)
    local side = conn.side
    local status, body = head.status, head.body
    if status < 200 then
        return status == 101 and switch(self, conn, head, p, n, size) or 0
    elseif body ~= NONE and (side.is_head or conn.heads) and answers_head(conn) then
        body = NONE
    end
    if body == NONE then
        complete(self, conn, status, keep(conn, head.keepalive, n), p - size, size, "")
        return 0
    elseif body == LENGTH and n >= head.length then
        local length = head.length
        complete(self, conn, status, keep(conn, head.keepalive, n - length), p - size, size,
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
        return fail(self, conn, "protocol", "bytes behind the last response that was asked for",
            now())
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
        n = receive(conn.fd, buffer, SIZE)
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


-- What epoll says about a socket that is not open yet. Bytes, or an end, that came with the
-- connection or behind the handshake are in this edge, and no other tells of them.
local function on_opening(self, conn, mask)
    local made = conn.made
    if conn.state == HANDSHAKE then
        connection.shake_hands(self, conn)
    else
        local number = socket.error(conn.fd)
        if number ~= 0 then
            return fail_socket(self, conn, number, now(), "connect")
        elseif band(mask, EPOLLOUT) ~= 0 then
            connection.connected(self, conn)
        end
    end
    if conn.made == made and conn.state == OPEN and band(mask, READABLE) ~= 0 then
        return on_readable(self, conn, mask)
    end
end


--- What epoll says about a connection's socket. With TLS each direction may wait for the other.
function _M.on_event(self, conn, mask)
    if conn.state == OPEN then
        if conn.out and (conn.tls or band(mask, EPOLLOUT) ~= 0) then
            local made = conn.made
            transmit(self, conn, conn.out, conn.out_at)
            if conn.made ~= made then
                return
            end
        end
        if conn.tls or band(mask, READABLE) ~= 0 then
            return on_readable(self, conn, mask)
        end
    elseif conn.state ~= CLOSED then
        return on_opening(self, conn, mask)
    end
end


return _M

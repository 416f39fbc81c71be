--- HTTP/2 on the engine's connections: many streams on each, a new one as soon as one has ended.
--
-- The frames are read and written here; `moonlap.load.hpack` compresses headers. Scripts write
-- their requests as HTTP/1 text, as for wrk; what is sent is made of it.
-- @module moonlap.load.h2
local bit = require "bit"
local ffi = require "ffi"
local connection = require "moonlap.load.connection"
local counters = require "moonlap.load.counters"
local exchange = require "moonlap.load.exchange"
local hpack = require "moonlap.load.hpack"
local kernel = require "moonlap.load.kernel"
local reading = require "moonlap.load.reading"
local requests = require "moonlap.load.h2_request"

local _M = {}

local band, rshift = bit.band, bit.rshift
local now = kernel.now
local char = string.char

local DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4,
    6,
    7, 8, 9
local END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 1, 1, 4, 8, 32
local MAX_CONCURRENT, INITIAL_WINDOW, MAX_FRAME = 3, 4, 5

local PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
local MOST_FRAME = 16384        -- what a server may send as long as we ask for no more
local MOST_BLOCK = 81920
local LARGEST_WINDOW = 2147483647
local REPLENISH = 2 ^ 30
local LAST_STREAM = 2 ^ 31 - 3


local function int32(x)
    return char(band(rshift(x, 24), 255), band(rshift(x, 16), 255), band(rshift(x, 8), 255),
        band(x, 255))
end


local function frame(kind, flags, stream, payload)
    return int32(#payload):sub(2) .. char(kind, flags) .. int32(stream) .. payload
end


local function setting(id, value)
    return char(0, id) .. int32(value)
end

-- No pushes, and windows that are never in the way.
local HELLO = PREFACE .. frame(SETTINGS, 0, 0, setting(2, 0) .. setting(INITIAL_WINDOW,
    LARGEST_WINDOW))
    .. frame(WINDOW_UPDATE, 0, 0, int32(LARGEST_WINDOW - 65535))


-- Bytes go out together when what was read has been looked at.
local function push(self, conn, text)
    local h2 = conn.h2
    h2.out[#h2.out + 1] = text
    if not h2.reading then
        _M.flush(self, conn)
    end
end


--- Sends what has gathered.
function _M.flush(self, conn)
    local h2 = conn.h2
    if #h2.out > 0 then
        local text = #h2.out == 1 and h2.out[1] or table.concat(h2.out)
        h2.out = {}
        exchange.transmit_more(self, conn, text)
    end
end


-- Sends as much of the bodies as the server's windows allow.
local function send_bodies(self, conn)
    local h2 = conn.h2
    for id, stream in pairs(h2.streams) do
        while stream.body and h2.window > 0 and stream.window > 0 do
            local size = math.min(#stream.body, h2.most_frame, h2.window, stream.window)
            local piece = stream.body:sub(1, size)
            stream.body = #stream.body > size and stream.body:sub(size + 1) or nil
            h2.window, stream.window = h2.window - size, stream.window - size
            push(self, conn, frame(DATA, stream.body and 0 or END_STREAM, id, piece))
        end
    end
end


-- Starts a stream with a request.
local function start(self, conn, text, t, due)
    local side, h2 = conn.side, conn.h2
    local names, values, body = side.read_request(text)
    local block = names and hpack.deflate(h2.deflater, names, values)
    if not block then
        return side.no_request(self, conn, text, t)
    end
    local id = h2.next_id
    h2.next_id = id + 2
    local has_body = body ~= ""
    h2.streams[id] = {
        sent = t, due = due, tag = conn.tag, window = h2.initial, body = has_body and body or nil,
        status = 0, head = "", pieces = side.wants_body and {} or nil,
    }
    conn.pending, conn.sent = conn.pending + 1, t
    side.flying = side.flying + 1
    side.counters.requests = side.counters.requests + 1
    push(self, conn, frame(HEADERS, END_HEADERS + (has_body and 0 or END_STREAM), id, block))
    if has_body then
        send_bodies(self, conn)
    end
    if side.pace and exchange.has_room(conn) then
        exchange.rest(side, conn)
    end
end


-- A stream has ended well.
local function finish(self, conn, id, stream)
    conn.h2.streams[id] = nil
    conn.sent, conn.due, conn.tag = stream.sent, stream.due, stream.tag
    local head = stream.head
    return exchange.complete(self, conn, stream.status, 1, ffi.cast("const uint8_t *", head), #head,
        stream.pieces and table.concat(stream.pieces) or "")
end


local function on_headers(self, conn, id, block, flags)
    local h2 = conn.h2
    local status, head, grpc = hpack.inflate(h2.inflater, block, conn.side.respond ~= nil)
    local stream = h2.streams[id]
    if not status and not (stream and stream.status > 0) then -- trailers have no status
        return "headers that cannot be decompressed, or have no status"
    elseif not stream then
        return nil -- of a stream that is over
    elseif status and status >= 200 then
        stream.status, stream.head = status, head
    end
    if grpc and grpc ~= "0" then -- gRPC's errors are answers with status 200
        counters.status(conn.side.counters, "grpc-status " .. grpc)
    end
    if band(flags, END_STREAM) ~= 0 then
        finish(self, conn, id, stream)
    end
end


-- Without the padding and the priority that a frame may have; nil when they are longer than it.
local function unpad(p, n, flags)
    local first, last = 0, n
    if band(flags, PADDED) ~= 0 then
        if n < 1 then
            return nil
        end
        first, last = 1, n - p[0]
    end
    if band(flags, PRIORITY) ~= 0 then
        first = first + 5
    end
    if last < first then
        return nil
    end
    return p + first, last - first
end


local function read_int32(p)
    return ((p[0] % 128 * 256 + p[1]) * 256 + p[2]) * 256 + p[3]
end


local handlers = {}

handlers[DATA] = function(self, conn, id, flags, p, n)
    local h2 = conn.h2
    h2.received = h2.received + n
    if h2.received >= REPLENISH then
        push(self, conn, frame(WINDOW_UPDATE, 0, 0, int32(h2.received)))
        h2.received = 0
    end
    local stream = h2.streams[id]
    local data, size = unpad(p, n, band(flags, PADDED))
    if not data then
        return "padding longer than its frame"
    elseif stream then
        if stream.status == 0 then
            return "data before headers"
        elseif stream.pieces then
            stream.pieces[#stream.pieces + 1] = ffi.string(data, size)
        end
        if band(flags, END_STREAM) ~= 0 then
            finish(self, conn, id, stream)
        end
    end
end

handlers[HEADERS] = function(self, conn, id, flags, p, n)
    local data, size = unpad(p, n, flags)
    if not data then
        return "padding longer than its frame"
    end
    local block = ffi.string(data, size)
    if band(flags, END_HEADERS) ~= 0 then
        return on_headers(self, conn, id, block, flags)
    end
    conn.h2.block, conn.h2.block_id, conn.h2.block_flags = block, id, flags
end

handlers[CONTINUATION] = function(self, conn, id, flags, p, n)
    local h2 = conn.h2
    if not h2.block or h2.block_id ~= id then
        return "a CONTINUATION of nothing"
    end
    h2.block = h2.block .. ffi.string(p, n)
    if #h2.block > MOST_BLOCK then
        return "headers of more than 80 KiB"
    elseif band(flags, END_HEADERS) ~= 0 then
        local block = h2.block
        h2.block = nil
        return on_headers(self, conn, id, block, h2.block_flags)
    end
end

handlers[RST_STREAM] = function(self, conn, id, _, p, n)
    if n ~= 4 then
        return "an RST_STREAM of another size than 4"
    end
    local stream = conn.h2.streams[id]
    if stream then
        conn.h2.streams[id] = nil
        exchange.lose_stream(self, conn,
            ("the server reset the stream, code %d"):format(read_int32(p)))
    end
end

handlers[SETTINGS] = function(self, conn, _, flags, p, n)
    if band(flags, ACK) ~= 0 then
        return
    elseif n % 6 ~= 0 then
        return "SETTINGS of a size that 6 does not divide"
    end
    local h2 = conn.h2
    for at = 0, n - 1, 6 do
        local id, value = p[at] * 256 + p[at + 1], read_int32(p + at + 2)
        if id == INITIAL_WINDOW then
            for _, stream in pairs(h2.streams) do
                stream.window = stream.window + value - h2.initial
            end
            h2.initial = value
        elseif id == MAX_FRAME then
            h2.most_frame = math.min(value, MOST_FRAME)
        elseif id == MAX_CONCURRENT then
            h2.most = value
        end
    end
    push(self, conn, frame(SETTINGS, ACK, 0, ""))
    send_bodies(self, conn)
end

handlers[PING] = function(self, conn, _, flags, p, n)
    if n ~= 8 then
        return "a PING of another size than 8"
    elseif band(flags, ACK) == 0 then
        push(self, conn, frame(PING, ACK, 0, ffi.string(p, 8)))
    end
end

handlers[GOAWAY] = function(_, conn, _, _, p, n)
    if n < 8 then
        return "a GOAWAY that is too short"
    end
    conn.h2.leaving, conn.h2.last = true, read_int32(p)
end

handlers[WINDOW_UPDATE] = function(self, conn, id, _, p, n)
    if n ~= 4 then
        return "a WINDOW_UPDATE of another size than 4"
    end
    local h2, stream = conn.h2, conn.h2.streams[id]
    if id == 0 then
        h2.window = h2.window + read_int32(p)
    elseif stream then
        stream.window = stream.window + read_int32(p)
    end
    send_bodies(self, conn)
end


-- Reads the frames that are complete. How many bytes they took; nil and what is wrong with them.
local function read_frames(self, conn, p, n)
    local at, made = 0, conn.made
    while n - at >= 9 do
        local head = p + at
        local size = (head[0] * 256 + head[1]) * 256 + head[2]
        if size > MOST_FRAME then
            return nil, "not HTTP/2, or a frame of more than 16 KiB"
        elseif n - at < 9 + size then
            break
        end
        local kind, flags, id = head[3], head[4], read_int32(head + 5)
        if conn.h2.block and kind ~= CONTINUATION then
            return nil, "a frame between HEADERS and CONTINUATION"
        end
        local handler = handlers[kind]
        local err = handler and handler(self, conn, id, flags, head + 9, size)
        if err then
            return nil, err
        elseif conn.made ~= made then
            return n -- another socket by now
        end
        at = at + 9 + size
    end
    return at
end


-- Takes bytes off a socket.
local function take(self, conn, p, n)
    local h2, made = conn.h2, conn.made
    if conn.have > 0 then
        p, n = reading.unstash(conn, p, n)
    end
    h2.reading = true
    local used, err = read_frames(self, conn, p, n)
    if conn.made ~= made then
        return
    end
    h2.reading = false
    if not used then
        return connection.fail(self, conn, "protocol", err, now())
    elseif used < n then
        reading.stash(conn, p + used, n - used)
    end
    _M.flush(self, conn)
    if conn.made ~= made then
        return
    elseif h2.leaving or h2.next_id > LAST_STREAM then
        for id in pairs(h2.streams) do
            if h2.last and id > h2.last then -- the server will not look at it
                h2.streams[id] = nil
                exchange.lose_stream(self, conn, "the server went away before this stream")
            end
        end
        if conn.made == made and conn.pending == 0 then
            connection.reopen(self, conn, now())
        end
    else
        exchange.fill(self, conn, now())
    end
end


--- Has a side speak HTTP/2.
-- @tparam table side
-- @tparam int streams at most under way on a connection
-- @treturn boolean true; or nil and why not
function _M.attach(side, streams)
    local ok, err = hpack.load()
    if not ok then
        return nil, err
    end
    side.streams, side.batch = streams, 1
    side.read_request = requests.reader(side.tls and "https" or "http")
    side.start, side.take = start, take

    function side.hello(self, conn)
        conn.h2 = {
            deflater = hpack.deflater(), inflater = hpack.inflater(), streams = {}, next_id = 1,
                out = {},
            initial = 65535, window = 65535, most_frame = MOST_FRAME, most = math.huge,
                received = 0,
            reading = false, leaving = false, last = false, block = nil, block_id = 0,
                block_flags = 0,
        }
        push(self, conn, HELLO)
    end

    --- Whether another stream may begin.
    function side.may_start(conn)
        local h2 = conn.h2
        return conn.pending < streams and conn.pending < h2.most and not h2.leaving
            and h2.next_id <= LAST_STREAM
    end

    --- When the requests that are under way were sent and due.
    function side.each_wait(conn, f)
        for _, stream in pairs(conn.h2.streams) do
            f(stream.sent, stream.due)
        end
    end
    return true
end


return _M

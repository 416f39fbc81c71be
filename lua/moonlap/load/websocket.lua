--- WebSocket echo on the engine's connections: a message out, a message back.
--
-- The upgrade is the first request of a connection, and is not counted. Then each request is a
-- text message of the script's (or the job's body), and its response is the next message of the
-- server.
-- @module moonlap.load.websocket
local bit = require "bit"
local ffi = require "ffi"
local connection = require "moonlap.load.connection"
local exchange = require "moonlap.load.exchange"
local kernel = require "moonlap.load.kernel"
local reading = require "moonlap.load.reading"

local _M = {}

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift
local now = kernel.now

local TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
local MOST_MESSAGE = 64 * 2 ^ 20
local MASK = { 0x4d, 0x6f, 0x6f,
    0x6e } -- a client has to mask; nothing says that it has to surprise
local KEY = "bW9vbmxhcCBsb2FkIHRlcw==" -- 16 bytes in base64


-- A frame of a client: the whole message, masked.
local function frame(opcode, payload)
    local n = #payload
    local head = n < 126 and 2 or n < 65536 and 4 or 10
    local out = ffi.new("uint8_t[?]", head + 4 + n)
    out[0] = 128 + opcode
    if head == 2 then
        out[1] = 128 + n
    elseif head == 4 then
        out[1], out[2], out[3] = 128 + 126, rshift(n, 8), band(n, 255)
    else
        out[1] = 128 + 127
        for i = 0, 3 do
            out[6 + i] = band(rshift(n, 24 - 8 * i), 255)
        end
    end
    for i = 0, 3 do
        out[head + i] = MASK[i + 1]
    end
    local from = ffi.cast("const uint8_t *", payload)
    for i = 0, n - 1 do
        out[head + 4 + i] = bxor(from[i], MASK[1 + i % 4])
    end
    return ffi.string(out, head + 4 + n)
end

_M.frame = frame


local function upgrade_request(wrk)
    local headers = {
        Upgrade = "websocket", Connection = "Upgrade", ["Sec-WebSocket-Version"] = "13",
        ["Sec-WebSocket-Key"] = KEY,
    }
    for name, value in pairs(wrk.headers) do
        if name ~= "Content-Length" then
            headers[name] = value
        end
    end
    local lines = { ("GET %s HTTP/1.1"):format(wrk.path) }
    for name, value in pairs(headers) do
        lines[#lines + 1] = name .. ": " .. tostring(value)
    end
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end


-- The server's answer to the upgrade. Bytes used; 0 for more to come; nil and what is wrong.
local function read_upgrade(conn, p, n)
    local text = ffi.string(p, n)
    local _, stop = text:find("\r\n\r\n", 1, true)
    if not stop then
        if n > 81920 then
            return nil, "a head of more than 80 KiB"
        end
        return 0
    end
    local status = text:match "^HTTP/1%.%d (%d%d%d)"
    if status ~= "101" then
        return nil, "the server does not upgrade to WebSocket: "
            .. (status and "status " .. status or "not an HTTP/1 response")
    end
    conn.upgraded = true
    return stop
end


-- One frame. Bytes used; 0 for more to come; nil and what is wrong.
local function read_frame(self, conn, p, n)
    if n < 2 then
        return 0
    end
    local opcode, final = band(p[0], 15), band(p[0], 128) ~= 0
    local size, head = band(p[1], 127), 2
    if band(p[1], 128) ~= 0 then
        return nil, "a masked frame from the server"
    elseif band(p[0], 0x70) ~= 0 then
        return nil, "a frame with reserved bits"
    elseif size == 126 then
        if n < 4 then
            return 0
        end
        size, head = p[2] * 256 + p[3], 4
    elseif size == 127 then
        if n < 10 then
            return 0
        end
        size, head = 0, 10
        for i = 2, 9 do
            size = size * 256 + p[i]
        end
    end
    if size > MOST_MESSAGE or #conn.message + size > MOST_MESSAGE then
        return nil, "a message of more than 64 MiB"
    elseif opcode >= CLOSE and (size > 125 or not final) then
        return nil, "a control frame that is too long or in pieces"
    elseif n < head + size then
        return 0
    end
    local payload = ffi.string(p + head, size)
    if opcode == PING then
        exchange.transmit_more(self, conn, frame(PONG, payload))
    elseif opcode == CLOSE then
        conn.leaving = true
    elseif opcode <= 2 then
        conn.message = conn.message .. payload
        if final then
            local message = conn.message
            conn.message = ""
            if conn.pending == 0 then
                return nil, "a message without a request"
            end
            exchange.complete(self, conn, 200, 1, ffi.cast("const uint8_t *", ""), 0, message)
        end
    elseif opcode ~= PONG then
        return nil, "a frame of an unknown kind"
    end
    return head + size
end


local function take(self, conn, p, n)
    local made = conn.made
    if conn.have > 0 then
        p, n = reading.unstash(conn, p, n)
    end
    while n > 0 do
        local used, err
        if not conn.upgraded then
            used, err = read_upgrade(conn, p, n)
            if used and used > 0 then
                exchange.proceed(self, conn, now())
            end
        else
            used, err = read_frame(self, conn, p, n)
        end
        if conn.made ~= made then
            return
        elseif not used then
            return connection.fail(self, conn, "protocol", err, now())
        elseif used == 0 then
            return reading.stash(conn, p, n)
        end
        p, n = p + used, n - used
        if conn.leaving then
            if conn.pending > 0 then
                return connection.fail(self, conn, "reset", "the server closed before it answered",
                    now())
            end
            return connection.reopen(self, conn, now())
        end
    end
end


--- Has a side speak WebSocket.
-- @tparam table side
-- @tparam table wrk of the script
-- @tparam boolean dynamic whether the script's request() returns the messages
function _M.attach(side, wrk, dynamic)
    side.take, side.batch, side.is_head = take, 1, false
    local upgrade = upgrade_request(wrk)
    if not dynamic then
        side.text = frame(TEXT, wrk.body or "hello")
    else
        local request = side.request
        side.request = function(conn)
            local text = request(conn)
            return type(text) == "string" and frame(TEXT, text) or text
        end
    end

    function side.hello(self, conn)
        conn.upgraded, conn.leaving, conn.message = false, false, ""
        exchange.transmit_more(self, conn, upgrade)
    end

    --- Whether messages may go out yet.
    function side.is_ready(conn)
        return conn.upgraded
    end
end



return _M

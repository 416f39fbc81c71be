-- Responses in pieces of any size, and bytes that are no responses: without sockets.
local ffi = require "ffi"
local connection = require "moonlap.load.connection"
local counters = require "moonlap.load.counters"
local exchange = require "moonlap.load.exchange"
local hostile = require "spec.support.hostile"
local reading = require "moonlap.load.reading"
local response = require "moonlap.load.response"
local timers = require "moonlap.load.timers"

local random = math.random


-- A thread with one connection that waits for `batch` responses.
local function new_conn(batch, wants_body)
    local head, keep = response.new()
    local seen = {}
    local side = {
        counters = counters.new(), head = head, keep = keep, wants_body = wants_body,
        batch = batch, is_head = false, streams = 0, sending = false, flying = 1, open = 1,
            addresses = {},
        free = {}, free_first = 0, free_last = -1, size = 2, tls = false,
        respond = function(_, status, p, n, body)
            seen[#seen + 1] = { status = status, head = ffi.string(p, n), body = body }
        end,
    }
    local self = { ending = true, timers = timers.new(), timeout_ns = 1e9, hook = { [0] = 0 } }
    local conn = connection.new(side, 0)
    conn.state, conn.pending = connection.OPEN, batch
    return self, conn, seen
end


local function errors(conn)
    local list = {}
    for kind in pairs(conn.side.counters.errors) do
        list[#list + 1] = kind
    end
    table.sort(list)
    return table.concat(list, " ")
end


local function feed(self, conn, text)
    local bytes = ffi.new("uint8_t[?]", #text + 1, text)
    reading.take(self, conn, ffi.cast("const uint8_t *", bytes), #text)
end


local function random_text(most)
    local out = {}
    for i = 1, random(0, most) do
        out[i] = string.char(random(0, 255))
    end
    return table.concat(out)
end


local function chunked(body)
    local out, at = {}, 1
    while at <= #body do
        local size = random(1, 40)
        local piece = body:sub(at, at + size - 1)
        local extension = random(4) == 1 and ";name=value" or ""
        out[#out + 1] = ("%x%s\r\n%s\r\n"):format(#piece, extension, piece)
        at = at + #piece
    end
    out[#out + 1] = "0\r\n" .. (random(3) == 1 and "X-Trailer: yes\r\n" or "") .. "\r\n"
    return table.concat(out)
end


local STATUSES = { 200, 201, 301, 404, 500 }

-- A response as text, and what is to be seen of it.
local function random_response()
    local lines = { "Server: a", "Date: " .. random(1e6) }
    local body = random_text(120)
    local status, wire = STATUSES[random(#STATUSES)], body
    local kind = random(5)
    if kind == 1 then
        lines[#lines + 1] = (random(2) == 1 and "Transfer-Encoding" or "transfer-encoding")
            .. ": chunked"
        wire = chunked(body)
    elseif kind == 2 then
        status, body, wire = random(2) == 1 and 204 or 304, "", ""
        lines[#lines + 1] = random(2) == 1 and "Content-Length: 17" or nil
    else
        local name = random(2) == 1 and "Content-Length:" or "content-length: "
        lines[#lines + 1] = name .. #body .. (random(2) == 1 and "  " or "")
    end
    local interim = random(4) == 1 and "HTTP/1.1 100 Continue\r\n\r\n" or ""
    local head = ("HTTP/1.1 %d Words\r\n%s\r\n\r\n"):format(status, table.concat(lines, "\r\n"))
    return interim .. head .. wire, { status = status, head = head, body = body }
end


-- Hands over a text in random pieces; of one byte each where `size` is 1.
local function feed_pieces(self, conn, text, size)
    local at, made = 1, conn.made
    while at <= #text and conn.made == made do
        local n = size or random(1, random(1, 200))
        feed(self, conn, text:sub(at, at + n - 1))
        at = at + n
    end
end


describe("moonlap.load.reading", function()
    it("reads responses that begin and end anywhere", function()
        for seed = 1, 150 do
            math.randomseed(seed)
            local count = random(1, 6)
            local texts, wanted = {}, {}
            for i = 1, count do
                texts[i], wanted[i] = random_response()
            end
            local self, conn, seen = new_conn(count, true)
            feed_pieces(self, conn, table.concat(texts), seed % 3 == 0 and 1 or nil)
            assert.same(wanted, seen, "seed " .. seed)
            assert.equal("", errors(conn):gsub("status", ""))
            assert.equal(0, conn.pending)
        end
    end)

    it("counts the same where no script asks for bodies", function()
        for seed = 1, 150 do
            math.randomseed(seed)
            local count = random(1, 6)
            local texts = {}
            for i = 1, count do
                texts[i] = random_response()
            end
            local self, conn = new_conn(count, false)
            conn.side.respond = nil
            feed_pieces(self, conn, table.concat(texts))
            assert.equal(count, conn.side.counters.responses, "seed " .. seed)
        end
    end)

    it("fails in words, and keeps no more than it may, whatever comes", function()
        hostile.each(function(seed)
            local text = random_response() .. random_response()
            for _ = 1, random(1, 8) do -- spoil it
                local at = random(#text)
                local kind = random(3)
                if kind == 1 then
                    text = text:sub(1, at - 1) .. string.char(random(0, 255)) .. text:sub(at + 1)
                elseif kind == 2 then
                    text = text:sub(1, at - 1) .. text:sub(at + random(1, 10))
                else
                    text = text:sub(1, at) .. text:sub(at - random(0, 20))
                end
                if text == "" then
                    text = "x"
                end
            end
            local self, conn = new_conn(2, seed % 2 == 0)
            feed_pieces(self, conn, text)
            assert.is_true(conn.side.counters.responses <= 2)
            for kind in errors(conn):gmatch "%S+" do
                assert.is_truthy(({ protocol = 1, reset = 1, status = 1 })[kind], kind)
            end
        end)
    end)

    it("names what is wrong", function()
        local head = "HTTP/1.1 200 OK\r\n"
        local chunks = head .. "Transfer-Encoding: chunked\r\n\r\n"
        local length = head .. "Content-Length: "
        local cases = {
            ["SSH-2.0-OpenSSH_9.2\r\n"] = "not an HTTP/1 response",
            ["HTTP/1.1 2x0 OK\r\n\r\n"] = "not an HTTP/1 response",
            ["HTTP/1.1 000 OK\r\n\r\n"] = "not an HTTP/1 response",
            [length .. "-1\r\n\r\n"] = "Content-Length is no number",
            [length .. "99999999999999999999\r\n\r\n"] = "Content-Length is no number",
            [length .. "1\r\nContent-Length: 2\r\n\r\n"] = "two different Content-Length",
            [head .. "nonsense\r\n\r\n"] = "a header without a colon",
            [chunks .. "xyz\r\n"] = "a chunk without a size",
            [chunks .. "1\r\nab\r\n"] = "a chunk is longer than its size",
            [chunks .. "ffffffffffffffff\r\n"] = "a chunk's size is out of range",
            [length .. "1\r\n\r\nabc"] = "bytes behind the last response that was asked for",
        }
        for text, words in pairs(cases) do
            local self, conn = new_conn(1, false)
            feed_pieces(self, conn, text)
            assert.is_truthy(conn.side.counters.texts["protocol\0" .. words], words)
        end
    end)

    it("bounds a head without end, and lines of the chunked coding", function()
        local self, conn = new_conn(1, false)
        feed(self, conn, "HTTP/1.1 200 OK\r\n")
        for _ = 1, 10000 do -- 10 MB, were they all taken
            if conn.pending == 0 then
                break
            end
            feed(self, conn, "X-Header: " .. ("x"):rep(1000) .. "\r\n")
        end
        assert.equal("protocol", errors(conn))
        assert.is_true(conn.room <= 262144)

        self, conn = new_conn(1, false)
        feed(self, conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
        for _ = 1, 100 do
            feed(self, conn, ("Trailer: %s\r\n"):format(("x"):rep(1000)))
            if conn.pending == 0 then
                break
            end
        end
        assert.equal("protocol", errors(conn))
    end)

    it("ends a body with the connection where nothing else ends it", function()
        local self, conn, seen = new_conn(1, true)
        feed_pieces(self, conn, "HTTP/1.0 200 OK\r\nServer: old\r\n\r\nthe body")
        assert.equal(0, #seen)
        reading.on_end(self, conn)
        assert.equal("the body", seen[1].body)
        assert.equal("", errors(conn))
    end)

    it("tells a response that was cut off", function()
        local self, conn = new_conn(1, true)
        feed(self, conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        reading.on_end(self, conn)
        local words = "reset\0the server closed in the midst of a response"
        assert.equal(1, conn.side.counters.texts[words])
    end)

    it("gives no body to responses to HEAD, also within a batch", function()
        local self, conn, seen = new_conn(3, true)
        local batch = "HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nHEAD / HTTP/1.1\r\n\r\n"
        conn.heads = exchange.heads_of(batch, 3)
        local head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
        feed(self, conn, head .. head .. "abc" .. head)
        assert.equal(3, #seen)
        assert.same({ "", "abc", "" }, { seen[1].body, seen[2].body, seen[3].body })
        assert.equal("", errors(conn))
    end)
end)

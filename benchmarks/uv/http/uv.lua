-- http CONNECTIONS REQUESTS: HTTP/1.1 over kept connections, both ends in this process; the head of
-- each request and answer is parsed, line by line, into a table.
local uv = require(arg[1])
local measure = require "measure"
local connections, requests = tonumber(arg[2]), tonumber(arg[3])

local REQUEST = "GET /index.html HTTP/1.1\r\nHost: localhost\r\nUser-Agent: benchmark\r\n"
    .. "Accept: */*\r\nConnection: keep-alive\r\n\r\n"
local BODY = "Hello, world!"

-- First line and headers of a head, and where its body begins; nothing while it is not whole.
local function parse(text)
    local last = text:find("\r\n\r\n", 1, true)
    if not last then
        return
    end
    local at = text:find("\r\n", 1, true)
    local first, headers = text:sub(1, at - 1), {}
    while at < last do
        local colon = text:find(":", at + 2, true)
        local line_end = text:find("\r\n", colon, true)
        headers[text:sub(at + 2, colon - 1):lower()] = text:sub(colon + 2, line_end - 1)
        at = line_end
    end
    return first, headers, last + 4
end

local server, port
server, port = measure.listen_on(uv, function(err)
    assert(not err, err)
    local peer, buffer = uv.new_tcp(), ""
    server:accept(peer)
    peer:read_start(function(_, chunk)
        if not chunk then
            peer:close()
            return
        end
        buffer = buffer .. chunk
        local first, headers, rest = parse(buffer)
        if not first then
            return
        end
        buffer = buffer:sub(rest)
        local method, path = first:match "^(%u+) (%S+) HTTP/1%.1$"
        assert(method == "GET" and path == "/index.html" and headers.host == "localhost")
        peer:write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " .. #BODY
            .. "\r\nConnection: " .. headers.connection .. "\r\n\r\n" .. BODY)
    end)
end)

local done, open = 0, connections
local function connect()
    local client, buffer, left = uv.new_tcp(), "", math.floor(requests / connections)
    client:connect("127.0.0.1", port, function(refused)
        assert(not refused, refused)
        client:read_start(function(err, chunk)
            assert(not err, err)
            buffer = buffer .. chunk
            local first, headers, rest = parse(buffer)
            local size = first and tonumber(headers["content-length"])
            if not first or #buffer < rest - 1 + size then
                return
            end
            assert(first == "HTTP/1.1 200 OK" and buffer:sub(rest, rest - 1 + size) == BODY)
            buffer = buffer:sub(rest + size)
            done, left = done + 1, left - 1
            if left > 0 then
                client:write(REQUEST)
                return
            end
            client:close()
            open = open - 1
            if open == 0 then
                server:close()
            end
        end)
        client:write(REQUEST)
    end)
end

local start = measure.cpu_seconds()
for _ = 1, connections do
    connect()
end
uv.run()
measure.report(measure.cpu_seconds() - start, done)

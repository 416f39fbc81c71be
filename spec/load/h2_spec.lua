-- HTTP/2 against a real nginx, and against bytes that are none.
local ffi = require "ffi"
local child = require "spec.support.child"
local connection = require "moonlap.load.connection"
local counters = require "moonlap.load.counters"
local exchange = require "moonlap.load.exchange"
local h2 = require "moonlap.load.h2"
local hostile = require "spec.support.hostile"
local kernel = require "moonlap.load.kernel"
local load = require "spec.support.load"
local nginx = require "spec.support.nginx"
local timers = require "moonlap.load.timers"

local SERVER = [[
    server {
        listen unix:%s/h2 http2;
        location / { return 200 "hello"; }
        location /missing { return 404; }
        location /large { content_by_lua_block { ngx.print(("0123456789"):rep(20000)) } }
        location /echo { client_body_buffer_size 1m; content_by_lua_block { ngx.req.read_body()
            ngx.print(#(ngx.req.get_body_data() or "")) } }
    }
]]


-- A thread with a connection of HTTP/2 whose socket takes everything and says nothing.
local function new_conn(streams)
    local side = {
        counters = counters.new(), batch = 1, streams = 0, sending = true, flying = 0, open = 1,
        addresses = {}, free = {}, free_first = 0, free_last = -1, size = 2, tls = false,
        text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", until_ns = math.huge, quota = 20,
    }
    local self = { ending = true, timers = timers.new(), timeout_ns = 1e9, hook = { [0] = 0 } }
    assert(h2.attach(side, streams))
    local conn = connection.new(side, 0)
    conn.state, conn.user = connection.OPEN, {}
    local send = exchange.transmit_more
    exchange.transmit_more = function() end
    side.hello(self, conn)
    exchange.fill(self, conn, kernel.now())
    return self, conn, function() exchange.transmit_more = send end
end


local function frame(kind, flags, id, payload)
    return string.char(0, math.floor(#payload / 256), #payload % 256, kind, flags, 0, 0, 0, id)
        .. payload
end


local function feed(self, conn, text)
    local bytes = ffi.new("uint8_t[?]", #text + 1, text)
    conn.side.take(self, conn, ffi.cast("const uint8_t *", bytes), #text)
end


describe("HTTP/2 in the load engine", function()
    it("loads a real nginx, with many streams a connection", function()
        child.with_folder(function(folder)
            os.execute("chmod 755 " .. folder)
            nginx.with({ http = SERVER:format(folder), server = "" }, function()
                local function run(url, more, script)
                    more.protocol, more.requests, more.duration_ns, more.url = "h2", 300, 2e10, url
                    local done = load.run(load.job(folder .. "/h2", more), script)
                    assert.equal(0, done.status, done.stderr)
                    assert.equal(300, done:sum "responses", done.stderr)
                    return done
                end
                assert.same({}, run("http://localhost/", {}):errors())
                assert.same({}, run("http://localhost/", { pipeline = 20 }):errors())
                assert.same({ status = 300 }, run("http://localhost/missing",
                    { pipeline = 3 }):errors())
                local done = run("http://localhost/large", { pipeline = 3 })
                assert.same({}, done:errors())
                assert.is_true(done:sum "bytes" > 300 * 200000)
                -- More than the server's window, so that it has to be waited for.
                child.write(folder .. "/body", ("x"):rep(150000))
                done = run("http://localhost/echo", { pipeline = 2, method = "POST",
                    body_file = folder .. "/body" }, [[
                    local seen
                    function response(status, headers, body)
                        if not seen then seen = true print(status, headers["content-length"]
                            or "-", body) end
                    end
                ]])
                assert.same({}, done:errors())
                assert.equal("200\t-\t150000\n", done.stdout)
                done = run("http://localhost/", { pipeline = 5, rate = 3000 })
                assert.same({}, done:errors())
            end)
        end)
    end)

    it("reads frames in pieces of any size", function()
        for size = 1, 40 do
            local self, conn, restore = new_conn(1)
            local text = frame(4, 0, 0, "\0\3\0\0\0\100")
            for id = 1, 19, 2 do -- :status 200 is 0x88 in the static table
                text = text .. frame(1, 4, id, "\136") .. frame(0, 8 + 1, id, "\3body\0\0\0")
            end
            for at = 1, #text, size do
                feed(self, conn, text:sub(at, at + size - 1))
            end
            restore()
            assert.equal(10, conn.side.counters.responses, size)
            assert.same({}, conn.side.counters.errors)
        end
    end)

    it("takes a grpc-status for the status", function()
        local self, conn, restore = new_conn(2)
        local function trailers(id, code)
            feed(self, conn, frame(1, 4, id, "\136") .. frame(0, 0, id, "\0\0\0\0\0")
                .. frame(1, 4 + 1, id, "\0\11grpc-status\1" .. code))
        end
        trailers(1, "0")
        assert.equal(0, conn.side.counters.status)
        trailers(3, "7")
        restore()
        assert.equal(2, conn.side.counters.responses)
        assert.equal(1, conn.side.counters.status)
        assert.equal(1, conn.side.counters.texts["status\0grpc-status 7"])
    end)

    it("fails in words, whatever comes", function()
        local good = frame(4, 0, 0, "\0\3\0\0\0\100") .. frame(1, 4, 1, "\136") .. frame(0, 1, 1,
            "body")
            .. frame(1, 0, 3, "") .. frame(9, 4, 3, "\136") .. frame(3, 0, 3, "\0\0\0\8")
            .. frame(1, 5, 3, "\0\11grpc-status\0017")
            .. frame(7, 0, 0, "\0\0\0\9\0\0\0\0")
        hostile.each(function()
            local text = good
            for _ = 1, math.random(8) do
                local at = math.random(#text)
                text = text:sub(1, at - 1) .. string.char(math.random(0, 255)) .. text:sub(at + 1)
            end
            local self, conn, restore = new_conn(2)
            local made = conn.made
            while #text > 0 and conn.made == made do
                local n = math.random(#text)
                feed(self, conn, text:sub(1, n))
                text = text:sub(n + 1)
            end
            restore()
            assert.is_true(conn.have <= 16393)
            assert.is_true(conn.side.flying >= 0)
            for kind in pairs(conn.side.counters.errors) do
                assert.is_truthy(({ protocol = 1, reset = 1, script = 1 })[kind], kind)
            end
        end)
    end)

    it("says that a server speaks HTTP/1", function()
        local run
        load.with_server(function(peer)
            peer:receive()
            peer:send "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
        end, function(path)
            run = load.run(load.job(path, { protocol = "h2" }))
        end)
        assert.equal("not HTTP/2, or a frame of more than 16 KiB", run:texts "protocol")
    end)
end)

-- A site on weblit, run by script/test-uv-programs: what it prints must be the same under luv and
-- under moonlap.uv.
local uv = require "uv"
local show = require "uv_show"
local request = require("coro-http").request
local split = require "coro-split"
local connect = require("coro-websocket").connect
local fs = require "coro-fs"

-- A port that is free: weblit wants a number.
local function free_port()
    local probe = uv.new_tcp()
    assert(probe:bind("127.0.0.1", 0))
    local port = probe:getsockname().port
    probe:close()
    return port
end

local function serve(folder, port)
    require "weblit-websocket"
    require("weblit-app")
        .bind({ host = "127.0.0.1", port = port })
        .use(require "weblit-auto-headers")
        .use(require "weblit-etag-cache")
        .route({ method = "GET", path = "/hello/:name" }, function(req, res)
            res.code = 200
            res.body = "Hello " .. req.params.name .. " " .. tostring(req.query and req.query.n)
        end)
        .route({ method = "POST", path = "/length" }, function(req, res)
            res.code, res.body = 200, tostring(#req.body)
        end)
        .route({ method = "GET", path = "/throws" }, function()
            error("thrown", 0)
        end)
        .route({ method = "GET", path = "/waits" }, function(_, res)
            local thread = coroutine.running()
            local timer = uv.new_timer()
            timer:start(5, 0, function()
                timer:close()
                assert(coroutine.resume(thread))
            end)
            coroutine.yield()
            res.code, res.body = 200, "waited"
        end)
        .route({ path = "/files/:path:" }, require "weblit-static"(folder))
        .websocket({ path = "/echo", protocol = "test" }, function(_, read, write)
            for message in read do
                message.mask = nil
                write(message)
            end
            write()
        end)
        .start()
end

local HEADERS = {
    etag = true, ["content-length"] = true, ["content-type"] = true, location = true,
    connection = true,
}

local function get(url, path, headers, method, body)
    local how = { followRedirects = false }
    local head, text = request(method or "GET", url .. path, headers, body, how)
    local words = {}
    for _, header in ipairs(head) do
        if HEADERS[header[1]:lower()] then
            words[#words + 1] = header[1] .. "=" .. header[2]
        end
    end
    table.sort(words)
    local start = text:sub(1, 60):gsub("%s+", " ")
    show(method or "GET", path, head.code, #text, start, table.concat(words, " "))
end

local function over_websocket(port)
    local _, read, write = assert(connect {
        host = "127.0.0.1", port = port, pathname = "/echo", subprotocol = "test", tls = false,
    })
    for _, size in ipairs { 0, 5, 200, 70000 } do
        write { opcode = 2, payload = ("w"):rep(size) }
        local message = read()
        show("websocket", message.opcode, #message.payload)
    end
    write()
end

local function visit(folder, port)
    local url = "http://127.0.0.1:" .. port
    assert(fs.writeFile(folder .. "/a.html", ("<p>text</p>"):rep(1000)))
    assert(fs.writeFile(folder .. "/sub/index.html", "index", true))
    for _, path in ipairs {
        "/", "/hello/you?n=1", "/files/a.html", "/files/a.html", "/files/sub", "/files/sub/",
        "/files/none", "/waits",
    } do
        get(url, path)
    end
    local etag
    for _, header in ipairs(request("GET", url .. "/files/a.html")) do
        etag = header[1] == "ETag" and header[2] or etag
    end
    get(url, "/files/a.html", { { "If-None-Match", etag } })
    get(url, "/files/a.html", nil, "HEAD")
    for _, size in ipairs { 1, 70000, 2000000 } do
        get(url, "/length", nil, "POST", ("x"):rep(size))
    end
    local tasks = {}
    for i = 1, 40 do
        tasks[i] = function()
            local path = i % 2 == 0 and "/waits" or "/hello/" .. i
            return (select(2, request("GET", url .. path)))
        end
    end
    show("at once", unpack({ split(unpack(tasks)) }))
    over_websocket(port)
    get(url, "/throws") -- last: weblit ends the connection, and coro-http would use it again
end

local folder = assert(uv.fs_mkdtemp "/tmp/moonlap-weblit-XXXXXX")
coroutine.wrap(function()
    local port = free_port()
    serve(folder, port)
    local ok, err = xpcall(visit, debug.traceback, folder, port)
    fs.rmrf(folder)
    show(ok and "done" or err)
    uv.walk(function(handle) -- the server, and what coro-http keeps
        if not handle:is_closing() then
            handle:close()
        end
    end)
end)()
uv.run()
show("left", uv.loop_alive())

-- A program on lit's coro-* libraries, run by script/test-uv-programs: what it prints must be the
-- same under luv and under moonlap.uv.
local uv = require "uv"
local show = require "uv_show"
local http = require "coro-http"
local net = require "coro-net"
local fs = require "coro-fs"
local spawn = require "coro-spawn"
local split = require "coro-split"

local function serve()
    local server = http.createServer("127.0.0.1", 0, function(head, body)
        local answer = head.method .. " " .. head.path .. " " .. #body
        if head.path == "/moved" then
            return { code = 302, { "Location", "/" }, { "Content-Length", "0" } }
        end
        if head.path == "/chunked" then
            return { code = 200, keepAlive = head.keepAlive,
                { "Transfer-Encoding", "chunked" } }, answer
        end
        return { code = 200, keepAlive = head.keepAlive,
            { "Content-Length", tostring(#answer) } }, answer
    end)
    return server, "http://127.0.0.1:" .. server:getsockname().port
end

local function over_http()
    local server, url = serve()
    for _, path in ipairs { "/", "/again", "/chunked", "/last" } do
        local head, body = http.request("GET", url .. path)
        show(path, head.code, head.keepAlive, body)
    end
    for _, size in ipairs { 0, 1, 70000, 3000000 } do
        local head, body = http.request("POST", url .. "/post", {}, ("x"):rep(size))
        show("post", size, head.code, body)
    end
    local moved = http.request("GET", url .. "/moved", nil, nil, { followRedirects = false })
    show("moved", moved.code)
    local results = { split(
        function() return (select(2, http.request("GET", url .. "/a"))) end,
        function() return (select(2, http.request("GET", url .. "/b"))) end,
        function() return (select(2, http.request("GET", url .. "/c"))) end
    ) }
    show("split", unpack(results))
    server:close()
    show("refused", pcall(http.getConnection, "127.0.0.1", 1, false))
end

local function over_pipes(folder)
    local path = folder .. "/socket"
    local server = net.createServer({ path = path }, function(read, write)
        for chunk in read do
            write(chunk:upper())
        end
        write()
    end)
    local read, write, socket = assert(net.connect { path = path })
    for _, line in ipairs { "one", "two", "three" } do
        write(line)
        show("pipe", read())
    end
    write()
    show("pipe end", read())
    if not socket:is_closing() then
        socket:close()
    end
    server:close()
    show("nobody there", net.connect { path = folder .. "/nothing" })
end

local function files(folder)
    show("write", fs.writeFile(folder .. "/a/b/c.txt", "some text", true))
    show("read", fs.readFile(folder .. "/a/b/c.txt"))
    show("missing", fs.readFile(folder .. "/a/nothing") == nil)
    local names = {}
    for entry in fs.scandir(folder .. "/a") do
        names[#names + 1] = entry.name .. ":" .. entry.type
    end
    show("scandir", unpack(names))
    show("status", #assert(fs.readFile "/proc/self/status") > 100)
    show("rmrf", fs.rmrf(folder .. "/a"))
end

local function children()
    local child = assert(spawn("cat", {}))
    child.stdin.write "through "
    child.stdin.write "a child"
    child.stdin.write()
    local parts = {}
    for chunk in child.stdout.read do
        parts[#parts + 1] = chunk
    end
    show("cat", table.concat(parts), child.waitExit())
    child.handle:close()
    local failing = assert(spawn("sh", { args = { "-c", "echo oops >&2; exit 3" } }))
    show("sh", failing.stderr.read(), failing.waitExit())
    failing.handle:close()
    show("none", (spawn("/nowhere/none", {})))
end

local folder = assert(uv.fs_mkdtemp "/tmp/moonlap-lit-XXXXXX")
coroutine.wrap(function()
    local ok, err = xpcall(function()
        files(folder)
        children()
        over_pipes(folder)
        over_http()
    end, debug.traceback)
    fs.rmrf(folder)
    show(ok and "done" or err)
    uv.walk(function(handle) -- coro-http keeps connections
        if not handle:is_closing() then
            handle:close()
        end
    end)
end)()
uv.run()
show("left", uv.loop_alive())

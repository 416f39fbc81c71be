-- The engine against servers: good ones, and such that refuse, hang, lie and die.
local load = require "spec.support.load"
local nginx = require "spec.support.nginx"
local kernel = require "moonlap.load.kernel"

local huge = math.huge
local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


-- Runs a job against a server's function.
local function against(serve, more, script)
    local run
    load.with_server(serve, function(path)
        run = load.run(load.job(path, more), script)
    end)
    assert.equal(0, run.status, run.stderr)
    assert.equal(1, #run:all "load_done")
    return run
end


-- Answers each request with a text.
local function answer(text)
    return function(peer)
        while peer:receive() and peer:send(text) do -- luacheck: ignore
        end
    end
end


describe("the load engine", function()
    it("loads a real nginx, as many requests as asked for", function()
        local server = [[
            location / { return 200 "hello\n"; }
            location /missing { return 404; }
            location /empty { return 204; }
            location /chunked { content_by_lua_block { ngx.print(("x"):rep(1000)) ngx.flush(true)
                ngx.print("y") } }
            location /close { keepalive_timeout 0; return 200 "bye\n"; }
            location /large { content_by_lua_block { ngx.print(("0123456789"):rep(100000)) } }
        ]]
        nginx.with({ server = server }, function(s)
            local path = s.folder .. "/socket"
            local function count(url, more)
                local job = load.job(path, more)
                job.requests, job.duration_ns, job.sides[1].url = 300, 2e10, "http://localhost"
                    .. url
                local run = load.run(job)
                assert.equal("requests", run:all("load_done")[1].stop, run.stderr .. run.channel)
                assert.equal(300, run:sum "requests")
                assert.equal(300, run:sum "responses")
                return run
            end
            assert.same({}, count("/"):errors())
            assert.same({}, count("/", { threads = 2, connections = 6 }):errors())
            assert.same({ status = 300 }, count("/missing"):errors())
            assert.same({}, count("/empty"):errors())
            assert.same({}, count("/chunked"):errors())
            assert.same({}, count("/", { method = "HEAD" }):errors())
            assert.same({}, count("/", { pipeline = 10 }):errors())
            assert.same({}, count("/large"):errors())
            local run = count "/close"
            assert.same({}, run:errors())
            assert.is_true(run:sum "connects" >= 298)
        end)
    end)

    it("keeps to a rate, and tells of what was due", function()
        local run = against(answer(OK), { rate = 500, duration_ns = 4e8, connections = 4 })
        assert.equal(200, run:sum "offered")
        assert.equal(200, run:sum "responses" + run:sum "unsent")
    end)

    it("counts no warm-up: neither its requests nor its part of a schedule", function()
        local run = against(answer(OK), { requests = 50, duration_ns = 1e11, warmup_ns = 5e7 })
        assert.equal(50, run:sum "responses")
        assert.is_true(run:all("load_slice")[1].warmup)
        assert.is_true(run:all("load_slice")[1].responses > 0)
        run = against(answer(OK), {
            stages = { { rate = 1000, duration_ns = 1e8 }, { rate = 500, duration_ns = 1e8 } },
            duration_ns = 2e8, warmup_ns = 1e8, arrivals = "constant",
        })
        assert.equal(150, run:sum "offered")
    end)

    it("opens a connection a request where none may be kept", function()
        local run = against(function(peer)
            if peer:receive():find("Connection: close", 1, true) then
                peer:send(OK:gsub("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))
            end
        end, { requests = 10, duration_ns = 1e11, keepalive = false, connections = 1 })
        assert.same({}, run:errors())
        assert.equal(10, run:sum "responses")
    end)

    it("gives the sides slices in balanced blocks", function()
        local run
        load.with_server(answer(OK), function(path)
            local job = load.job(path, { duration_ns = 3e8, slice_ns = 2e7, threads = 2,
                connections = 4 })
            job.sides[2] = { name = "B", url = "http://localhost/b", unix = path,
                pids = { kernel.pid() } }
            run = load.run(job)
        end)
        local blocks, last = {}, -1
        for _, line in ipairs(run:all "load_slice") do
            if line.thread == 0 then
                assert.equal(last + 1, line.slice)
                last = line.slice
                blocks[line.block] = (blocks[line.block] or "") .. line.side
                assert.equal(line.side == 1, line.server_cpu_ns ~= nil)
            end
        end
        for block, sides in pairs(blocks) do
            assert.is_truthy(sides == "0110" or sides == "1001", block .. ": " .. sides)
        end
        assert.is_truthy(blocks[0])
    end)

    it("gives them slices that are long for their drains, where the job does not say", function()
        for _, pause_ns in ipairs { 0, 7e7 } do
            local run
            load.with_server(function(peer)
                while peer:receive() do
                    kernel.poll({}, 4, pause_ns / 1e6)
                    peer:send(OK)
                end
            end, function(path)
                local job = load.job(path, { duration_ns = 2e8, warmup_ns = 4.8e8 })
                job.slice_ns = nil
                job.sides[2] = { name = "B", url = "http://localhost/b", unix = path }
                run = load.run(job)
            end)
            local chosen, drain = run:all("load_begin")[1].slice_ns, huge
            for _, line in ipairs(run:all "load_slice") do
                drain = line.warmup and math.min(drain, line.drain_ns) or drain
            end
            assert.equal(0, chosen % 1e7)
            assert.is_true(chosen >= 1e7 and chosen <= 1e8)
            assert.is_true(chosen >= math.min(1e8, 4 * drain), chosen .. " and " .. drain)
            assert.is_true(pause_ns == 0 or chosen == 1e8)
        end
    end)

    it("has the CPU time that a server takes behind its last answer", function()
        local server = [[
            location = /pid { content_by_lua_block { ngx.print(ngx.worker.pid()) } }
            location / {
                content_by_lua_block { ngx.print "ok" }
                log_by_lua_block { local from = os.clock() while os.clock() - from < 0.003 do end }
            }
        ]]
        local run
        nginx.with({ server = server }, function(s)
            local _, pid = s:send "/pid"()
            local path = s.folder .. "/socket"
            local job = load.job(path, { duration_ns = 3e8, slice_ns = 2e6, connections = 1 })
            job.sides[2] = { name = "B", url = "http://localhost/b", unix = path }
            for _, side in ipairs(job.sides) do
                side.pids = { tonumber(pid) }
            end
            run = load.run(job)
        end)
        local each = {} -- of a slice; a busy machine may keep the server from its work for longer
        for _, line in ipairs(run:all "load_slice") do
            if line.responses > 0 then
                each[#each + 1] = line.server_cpu_ns / line.responses
            end
        end
        table.sort(each)
        local median = each[math.ceil(#each / 2)]
        assert.is_true(median > 2.7e6, median .. " ns of 3e6")
    end)

    it("tells refused from reset, from hung, from garbage", function()
        local run = load.run(load.job "/nonexistent/socket")
        assert.is_true(run:errors().connect > 0)
        assert.equal("No such file or directory", run:texts "connect")

        run = against(function(peer) peer:receive() end)
        assert.is_true(run:errors().reset > 0)
        assert.equal("the server closed before it answered", run:texts "reset")

        run = against(function(peer)
            peer:receive()
            peer:send(OK:sub(1, -2))
        end)
        assert.equal("the server closed in the midst of a response", run:texts "reset")

        run = against(answer "nonsense")
        assert.equal("not an HTTP/1 response", run:texts "protocol")

        run = against(answer(OK .. "more"))
        assert.is_true(run:errors().protocol > 0)
    end)

    it("asks for no more requests than it may, also where nobody listens", function()
        local run = load.run(load.job("/nonexistent/socket",
            { requests = 6, duration_ns = 3.6e12 }))
        assert.equal("requests", run:all("load_done")[1].stop)
        run = against(function() end, { requests = 6, duration_ns = 3.6e12 })
        assert.equal("requests", run:all("load_done")[1].stop)
        assert.is_true(run:errors().reset >= 6)
    end)

    it("takes no second answer for that to the next request", function()
        local chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        for _, text in ipairs { OK .. OK, chunked .. OK, "HTTP/1.1 204 No\r\n\r\n" .. OK } do
            local run = against(answer(text), { requests = 20, duration_ns = 1e10,
                connections = 1 })
            assert.equal(20, run:sum "responses")
            assert.equal(20, run:errors().protocol)
            assert.equal("bytes behind the last response that was asked for", run:texts "protocol")
        end
    end)

    it("takes a 101 for an answer only where it was asked for", function()
        local switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nframes"
        local run = against(answer(switch))
        assert.equal(0, run:sum "responses")
        assert.equal("the server switches protocols, and was not asked to", run:texts "protocol")
        run = against(answer(switch), { headers = { { "Upgrade", "x" } }, requests = 5,
            duration_ns = 1e10 })
        assert.same({}, run:errors())
        assert.equal(5, run:sum "responses")
    end)

    it("counts each request of a batch that fails with its connection", function()
        local function batch_of_5(serve)
            return against(serve, { pipeline = 5, connections = 1, timeout_ns = 1e8,
                duration_ns = 5e7 })
        end
        local run = batch_of_5(function(peer)
            peer:receive()
            peer:send(OK .. OK)
            kernel.poll({}, 0, 20000)
        end)
        assert.equal(3 * (run:sum "responses" / 2), run:errors().timeout)
        run = batch_of_5(function(peer)
            peer:receive()
            peer:send(OK)
        end)
        assert.equal(run:sum "requests", run:sum "responses" + run:errors().reset)
        run = batch_of_5(answer "nonsense")
        assert.equal(run:sum "requests", run:errors().protocol)
    end)

    it("reads no head without end, and waits for no half of one", function()
        local run = against(function(peer)
            peer:receive()
            peer:send "HTTP/1.1 200 OK\r\n"
            while peer:send(("X-Header: %s\r\n"):format(("x"):rep(8000))) do -- luacheck: ignore
            end
        end, { memory_bytes = 200 * 2 ^ 20 })
        assert.equal("a head of more than 80 KiB", run:texts "protocol")
        run = against(function(peer)
            peer:receive()
            peer:send(("x"):rep(1e7))
        end)
        assert.is_truthy(run:texts("protocol"):find("not an HTTP/1 response", 1, true))
        run = against(function(peer)
            peer:receive()
            peer:send "HTTP/1.1 200 OK\r\nContent-Le"
            kernel.poll({}, 0, 20000)
        end, { timeout_ns = 1e8 })
        assert.is_true(run:errors().timeout >= 2)
        run = against(function(peer)
            peer:receive()
            peer:send "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n"
        end)
        assert.equal("Content-Length is no number", run:texts "protocol")
    end)

    it("tells of a pause while it waited", function()
        local run = against(answer(OK), { rate = 20, duration_ns = 9e8, connections = 1,
            stages = nil }, [[
                local ffi = require "ffi"
                ffi.cdef "int getpid(void);"
                function init()
                    local pid = ffi.C.getpid()
                    os.execute(("(sleep 0.3; kill -STOP %d; sleep 0.4; kill -CONT %d) &")
                        :format(pid, pid))
                end
            ]])
        local most = 0
        for _, line in ipairs(run:all "load_slice") do
            most = math.max(most, line.lag_max_ns)
        end
        assert.is_true(most > 2e8, tostring(most))
        assert.same({}, run:errors())
    end)

    it("waits no longer than the timeout, and puts that into the histogram", function()
        local run = against(function(peer)
            peer:receive()
            kernel.poll({}, 0, 20000)
        end, { timeout_ns = 1e8 })
        local errors = run:errors()
        assert.is_true(errors.timeout >= 2)
        local histogram = require "moonlap.histogram"
        local h = assert(histogram.decode(run:all("load_slice")[1].raw))
        for _, line in ipairs(run:all "load_slice") do
            h:merge(histogram.decode(line.raw))
        end
        assert.is_true(h:max() >= 1e8)
    end)

    it("reads endless chunks no longer than the timeout", function()
        local run = against(function(peer)
            peer:receive()
            peer:send "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            while peer:send("1000\r\n" .. ("x"):rep(4096) .. "\r\n") do -- luacheck: ignore
            end
        end, { timeout_ns = 1e8 })
        assert.is_true(run:errors().timeout >= 1)
        assert.equal(0, run:sum "responses")
    end)

    it("goes on when the server comes back, and pauses until then", function()
        local run = against(function(peer, number)
            if number > 6 then
                answer(OK)(peer)
            end
        end, { requests = 20, duration_ns = 1e11 })
        assert.is_true(run:sum "responses" >= 14)
        assert.is_true(run:errors().reset <= 6)
    end)

    it("ends early when it is interrupted, with its report", function()
        local run = against(answer(OK), { duration_ns = 1e11 }, [[
            local ffi = require "ffi"
            ffi.cdef "int getppid(void); int kill(int, int);"
            local n = 0
            function response()
                n = n + 1
                if n == 10 then ffi.C.kill(ffi.C.getppid(), 2) end
            end
        ]])
        assert.equal("interrupted", run:all("load_done")[1].stop)
        assert.is_true(run:sum "responses" >= 10)
    end)

    it("ends at once when it was interrupted before it began", function()
        local run = against(answer(OK), { duration_ns = 1e11 }, [[
            local ffi = require "ffi"
            ffi.cdef "int getppid(void); int kill(int, int);"
            function init() ffi.C.kill(ffi.C.getppid(), 2) end
            function request() error("no") end
        ]])
        assert.equal("interrupted", run:all("load_done")[1].stop)
    end)
end)

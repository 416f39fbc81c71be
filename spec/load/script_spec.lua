-- Scripts: what wrk's may do, what they may do beyond it, and what they get wrong.
local load = require "spec.support.load"

local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=1\r\nset-cookie: b\r\n\r\nok"


-- Answers each request, and writes it to a file where one is named.
local function recorder(file)
    return function(peer)
        local out = file and assert(io.open(file, "ab"))
        while true do
            local request = peer:receive()
            if not request then
                return
            elseif out then
                out:write(request)
                out:flush()
            end
            peer:send(OK)
        end
    end
end


local function run_script(script, more)
    local run
    load.with_server(recorder(), function(path)
        run = load.run(load.job(path, more), script)
    end)
    return run
end


-- The requests that a script sends.
local function requests_of(script, more)
    local file = os.tmpname()
    local run
    load.with_server(recorder(file), function(path)
        more.requests, more.duration_ns, more.connections = more.requests or 1, 1e10, 1
        run = load.run(load.job(path, more), script)
    end)
    local input = assert(io.open(file, "rb"))
    local text = input:read "*a"
    input:close()
    os.remove(file)
    return text, run
end


describe("a script of moonlap load", function()
    it("runs once in the main state and once in each thread, setup before init", function()
        local run = run_script([[
            print("file", wrk.scheme, wrk.host, wrk.port, wrk.path, wrk.method)
            function setup(thread)
                thread:set("number", 7)
                thread:set("deep", {list = {1, 2, {x = "a\0b\r\n"}}, yes = true})
                print("setup", thread.unknown)
            end
            function init(args)
                print("init", number, deep.list[3].x == "a\0b\r\n", deep.yes, args[0], args[1],
                    wrk.headers.Host, wrk.thread:get("number"))
            end
        ]], { threads = 2, args = { "one" }, url = "http://localhost:81/a?b" })
        local file = "file\thttp\tlocalhost\t81\t/a?b\tGET\n"
        local rest = file .. "setup\tunknown\ninit\t7\ttrue\ttrue\thttp://localhost:81/a?b\tone"
            .. "\tlocalhost:81\t7\n"
        assert.equal(file .. rest .. rest, run.stdout)
    end)

    it("asks the first thread's request() once more than it sends", function()
        local _, run = requests_of([[
            local n = 0
            function request() n = n + 1; count = n; return wrk.request() end
            function setup(thread) kept = thread end
            function done(summary) print(kept:get("count"), summary.requests) end
        ]], { requests = 5 })
        assert.equal("6\t5\n", run.stdout)
    end)

    it("sends what request() returns, byte for byte", function()
        local text = requests_of([[
            request = function()
                return wrk.format("POST", "http://h/p", {["X-A"] = 5}, nil)
            end
        ]], {})
        assert.equal("POST http://h/p HTTP/1.1", text:match "^[^\r]*")
        assert.is_truthy(text:find("\r\nX-A: 5\r\n", 1, true))
        assert.is_truthy(text:find("\r\nHost: localhost\r\n", 1, true))

        text = requests_of([[wrk.method = "PUT" wrk.headers["A"] = "b" wrk.body = "x=1"]], {})
        assert.is_truthy(text:find("^PUT / HTTP/1.1\r\n"))
        assert.is_truthy(text:find("Content-Length: 3", 1, true))
    end)

    it("counts the pipelined requests that request() returns", function()
        local run = run_script([[
            init = function()
                local r = {}
                for i = 1, 3 do r[i] = wrk.format(nil, "/?" .. i) end
                req = table.concat(r)
            end
            request = function() return req end
        ]], { requests = 30, duration_ns = 1e10 })
        assert.equal(30, run:sum "responses")
        assert.same({}, run:errors())
    end)

    it("sees status, headers and body, and iterates over the headers", function()
        local run = run_script([[
            local seen
            function response(status, headers, body)
                if seen then return end
                seen = true
                local names = {}
                for name, value in pairs(headers) do names[#names + 1] = name .. "=" .. value end
                table.sort(names)
                print(status, headers["Content-Length"], headers.nothing, body,
                    table.concat(names, ","))
            end
        ]])
        assert.equal("200\t2\tnil\tok\tContent-Length=2,Set-Cookie=a=1,set-cookie=b\n", run.stdout)
    end)

    it("keeps headers that are looked at later", function()
        local run = run_script([[
            local kept = {}
            function response(_, headers)
                kept[#kept + 1] = headers
                if #kept == 3 then print(kept[1]["Set-Cookie"], next(kept[2]) ~= nil) end
            end
        ]])
        assert.equal("a=1\ttrue\n", run.stdout)
    end)

    it("gives done() what wrk gives", function()
        local run = run_script([[
            function done(summary, latency, requests)
                local e = summary.errors
                print(summary.requests > 0, summary.bytes > 0, summary.duration > 1e5,
                    e.connect + e.read + e.write + e.status + e.timeout)
                local value, count = latency(1)
                print(latency.min <= latency.mean, latency.mean <= latency.max, latency.stdev >= 0,
                    latency:percentile(50) <= latency:percentile(99), #latency > 0,
                        value == latency.min,
                    count > 0, latency.foo, #requests > 0)
            end
        ]])
        assert.equal("true\ttrue\ttrue\t0\ntrue\ttrue\ttrue\ttrue\ttrue\ttrue\ttrue\tfoo\ttrue\n",
            run.stdout)
    end)

    it("waits as long as delay() says", function()
        local run = run_script([[function delay() return 50 end]],
            { requests = 4, duration_ns = 1e11, connections = 1 })
        assert.equal(4, run:sum "responses")
        assert.is_true(run:all("load_done")[1].elapsed_ns >= 4 * 50e6)
    end)

    it("does not wait where delay() returns nothing, or nonsense, which it names", function()
        local words = {
            ["nil"] = false, ["'0'"] = false, ["-5"] = "-5", ["0/0"] = "nan", ["{}"] = "a table",
            ["'soon'"] = '"soon"',
        }
        for value, said in pairs(words) do
            local run = run_script("function delay() return " .. value .. " end",
                { requests = 4, duration_ns = 1e11, connections = 1 })
            assert.equal(4, run:sum "responses")
            local line = run:all "load_script"[1]
            assert.equal(said and "delay() returned " .. said .. ", not milliseconds",
                line and line.text:gsub("%-nan", "nan") or false)
            assert.equal(said and "script.lua:1" or "nil:nil",
                line and line.file .. ":" .. line.line or "nil:nil")
        end
    end)

    it("may replace its hooks as it goes", function()
        local text = requests_of([[
            request = function() return wrk.format("GET", "/first") end
            response = function()
                wrk.headers["X-Token"] = "t"
                request = function() return wrk.format("GET", "/second") end
            end
        ]], { requests = 2 })
        assert.is_truthy(text:find("GET /first ", 1, true))
        assert.is_truthy(text:find("GET /second ", 1, true))
        assert.is_truthy(text:find("X-Token: t", 1, true))
    end)

    it("ends its thread by thread:stop(), and the run with it", function()
        local run = run_script([[
            local n = 0
            function response() n = n + 1; if n == 10 then wrk.thread:stop() end end
        ]], { duration_ns = 6e10, connections = 1 })
        assert.equal("script", run:all("load_done")[1].stop)
        assert.equal(10, run:sum "responses")
    end)

    describe("that is wrong", function()
        local function fault(script, more)
            local run = run_script(script, more)
            assert.equal(0, run.status, run.stderr)
            assert.equal(1, #run:all "load_done")
            return run, run:all "load_script"[1]
        end

        -- As fault, where the process may have been ended by force.
        local function fault_of_any(script, more)
            local run = run_script(script, more)
            return run, run:all "load_script"[1]
        end

        it("does not parse: named once a state, and the run goes on", function()
            local run, line = fault "this is no Lua"
            assert.equal("load", line.hook)
            assert.equal("script.lua", line.file)
            assert.equal(1, line.line)
            assert.equal(2, #run:all "load_script")
            assert.is_true(run:sum "responses" > 0)
        end)

        for hook, number in pairs { setup = 1, init = 1, delay = 1, request = 1, response = 1,
            done = 1 } do
            it("throws in " .. hook .. "(): file and line, and a report", function()
                local _, line = fault("function " .. hook .. "() error('oh no') end", {})
                assert.equal(hook, line.hook)
                assert.equal("oh no", line.text)
                assert.equal("script.lua", line.file)
                assert.equal(number, line.line)
            end)
        end

        it("throws in init(): nothing else is said to be wrong", function()
            local run = fault("function init() error('oh no') end")
            for _, line in ipairs(run:all "load_script") do
                assert.equal("init", line.hook)
            end
        end)

        it("throws now and then: the other requests count", function()
            local run = fault([[
                local n = 0
                function response() n = n + 1; if n % 10 == 0 then error("tenth") end end
            ]], { requests = 50, duration_ns = 1e11 })
            assert.equal(5, run:errors().script)
            assert.equal(50, run:sum "responses")
        end)

        for value, words in pairs {
            ["nil"] = "nil", ["{}"] = "a table", ["''"] = "an empty string",
                ["false"] = "a boolean",
        } do
            it("returns " .. words .. " from request()", function()
                local run, line = fault("function request() return " .. value .. " end")
                assert.equal("request", line.hook)
                assert.is_truthy(line.text:find("request() returned " .. words, 1, true), line.text)
                assert.is_true(run:errors().script > 0)
            end)
        end

        it("never ends in some hook: named with its place, and the run ends", function()
            local function hangs(hook, script, more)
                more = more or {}
                more.hang_ns, more.duration_ns = 1e8, 2e8
                local run, line = fault_of_any(script, more)
                assert.equal("hang", line.kind, hook)
                assert.equal(hook, line.hook)
                assert.equal("script.lua", line.file)
                assert.equal(hook ~= "load" and 2 or nil, line.line)
                assert.is_truthy(line.text:find("has not returned for", 1, true), line.text)
                assert.equal(1, #run:all "load_done")
                return run
            end
            hangs("load", "while true do end")
            for _, hook in ipairs { "setup", "init", "delay" } do
                hangs(hook, "\nfunction " .. hook .. "() while true do end end")
            end
            hangs("request", "\nfunction request() while true do pcall(error) end end")
            hangs("init", "\nfunction init() os.execute 'sleep 5' end")
            hangs("check", "\nrequire('moonlap.load').check(function() while true do end end)")
            local run = hangs("done", "\nfunction done() while true do pcall(error) end end")
            assert.is_true(run:sum "responses" > 0)
        end)

        it("is not called hung because its thread was stopped", function()
            local run = run_script([[
                local ffi = require "ffi"
                ffi.cdef "int getpid(void);"
                local stopped
                function response()
                    if not stopped then
                        stopped = true
                        local pid = ffi.C.getpid()
                        os.execute(("(kill -STOP %d; sleep 1; kill -CONT %d) & sleep 0.1")
                            :format(pid, pid))
                    end
                end
            ]], { hang_ns = 3e8, duration_ns = 3e8, connections = 1 })
            assert.same({}, run:all "load_script")
            assert.equal(0, run:all("load_done")[1].threads_lost)
            assert.is_true(run:sum "responses" > 1)
        end)

        it("takes away what Lua has: the engine keeps its own", function()
            local run, line = fault [[
                local names, globals, raise = {}, _G, error
                for name in pairs(globals) do names[#names + 1] = name end
                for _, name in ipairs(names) do
                    if name ~= "wrk" then globals[name] = nil end
                end
                function request() raise "still here" end
            ]]
            assert.equal("still here", line.text)
            assert.equal("script.lua", line.file)
            assert.equal("", run.stderr)
            local thrown = select(2, fault "function request() error({}) end")
            assert.equal("a table was thrown, with no text", thrown.text)
        end)

        it("never ends: its thread is ended, the others report", function()
            local run, line = fault([[
                function setup(thread) n = (n or 0) + 1; thread:set("number", n) end
                function response() while number == 2 do end end
            ]], { threads = 2, hang_ns = 2e9, duration_ns = 5e8 })
            assert.equal("hang", line.kind)
            assert.equal("response", line.hook)
            assert.equal(1, line.thread)
            assert.equal(1, run:all("load_done")[1].threads_lost)
            assert.is_true(run:sum "responses" > 0)
        end)

        it("calls os.exit: where, and with what", function()
            local run, line = fault [[function response() os.exit(3) end]]
            assert.equal("exit", line.kind)
            assert.equal(3, line.status)
            assert.equal("script.lua", line.file)
            assert.equal("script", run:all("load_done")[1].stop)
            for _, hook in ipairs { "setup", "init", "done" } do
                _, line = fault("function " .. hook .. "() os.exit(4) end")
                assert.equal(hook, line.hook)
                assert.equal(4, line.status)
            end
        end)

        it("grows memory beyond its limit", function()
            local _, line = fault([[
                local t = {}
                function response() t[#t + 1] = ("x"):rep(1e7) .. #t end
            ]], { memory_bytes = 100 * 2 ^ 20, duration_ns = 1e10, requests = 40, hang_ns = 2e10 })
            assert.is_truthy(line, "no line")
            assert.is_truthy(line.kind == "memory" or line.kind == "crash", line.kind)
        end)

        it("crashes its process: the report of the others is kept", function()
            local run, line = fault([[
                function setup(thread) n = (n or 0) + 1; thread:set("number", n) end
                local ffi = require "ffi"
                function response() if number == 1 then ffi.cast("int *", 0)[0] = 1 end end
            ]], { threads = 2 })
            assert.equal("crash", line.kind)
            assert.equal(0, line.thread)
            assert.is_true(run:sum "responses" > 0)
        end)

        it("sends a function to another thread", function()
            local _, line = fault [[function setup(t) t:set("f", function() end) end]]
            assert.equal("setup", line.hook)
            assert.is_truthy(line.text:find("a function cannot go to another thread: f", 1, true))
        end)
    end)
end)


describe("a script beyond wrk", function()
    it("has a table for each connection, and tags for its requests", function()
        local run = run_script([[
            request = function(conn)
                conn.count = (conn.count or 0) + 1
                conn.tag = conn.count % 2 == 0 and "even" or "odd"
                return wrk.format("GET", "/" .. conn.id .. "/" .. conn.count)
            end
            response = function(status, headers, body, conn)
                conn.answers = (conn.answers or 0) + 1
                if conn.answers ~= conn.count then error("not its own") end
            end
        ]], { connections = 3 })
        assert.same({}, run:errors())
        local counts = {}
        for _, line in ipairs(run:all "load_slice") do
            for _, tag in ipairs(line.tags or {}) do
                counts[tag.name] = (counts[tag.name] or 0) + tag.count
            end
        end
        assert.equal(run:sum "responses", counts.even + counts.odd)
        assert.is_true(counts.odd - counts.even <= 3)
    end)

    it("judges responses by check()", function()
        local run = run_script([[
            local n = 0
            require("moonlap.load").check(function(response)
                n = n + 1
                return n % 3 > 0 and response.headers["Content-Length"] == "2"
                    and response.body == "ok",
                    "every third"
            end)
        ]], { requests = 30, duration_ns = 1e10, connections = 1 })
        assert.equal(10, run:errors().check)
        assert.equal("every third", run:texts "check")
    end)

    it("plays users with several steps and pauses", function()
        local text = requests_of([[
            local load = require "moonlap.load"
            load.user(function(conn)
                local login = conn:post("/login", "id=" .. conn.id)
                load.sleep(0.01)
                conn:get("/basket/" .. login.status .. login.body,
                    { headers = { Cookie = login.headers["Set-Cookie"] }, tag = "basket" })
            end)
        ]], { requests = 4 })
        local lines = {}
        for method, path in text:gmatch "(%u+) (%S+) HTTP/1.1\r\n" do
            lines[#lines + 1] = method .. " " .. path
        end
        assert.same({ "POST /login", "GET /basket/200ok", "POST /login", "GET /basket/200ok" },
            lines)
        assert.is_truthy(text:find("Cookie: a=1\r\n", 1, true))
    end)

    it("tells a user that its request failed", function()
        local run
        load.with_server(function(peer) peer:receive() end, function(path)
            run = load.run(load.job(path, { connections = 1, requests = 3, duration_ns = 1e10 }), [[
                require("moonlap.load").user(function(conn)
                    local answer, kind = conn:get "/"
                    if not said then said = true print(answer, kind) end
                end)
            ]])
        end)
        assert.equal("nil\treset\n", run.stdout)
    end)

    it("names the place of an error in a user, and users that send nothing", function()
        local run = run_script "require('moonlap.load').user(function(conn)\nerror('no') end)"
        local line = run:all "load_script"[1]
        assert.equal("script.lua:2: no", line.file .. ":" .. line.line .. ": " .. line.text)
        run = run_script "require('moonlap.load').user(function() end)"
        line = run:all "load_script"[1]
        assert.is_truthy(line.text:find("without a request", 1, true))
    end)

    it("shares the lines of a file", function()
        local file = os.tmpname()
        local out = io.open(file, "wb")
        out:write "one\r\n\nthree\nlast"
        out:close()
        local run = run_script(([[
            local lines = assert(require("moonlap.load").lines(%q))
            print(lines.count, lines[1], lines[2] == "", lines[3], lines[4], lines[5])
            print(require("moonlap.load").lines "/nonexistent/file")
        ]]):format(file))
        os.remove(file)
        local said = "4\tone\ttrue\tthree\tlast\tnil\n"
            .. "nil\t/nonexistent/file: No such file or directory\n"
        assert.equal(said .. said, run.stdout)
    end)
end)

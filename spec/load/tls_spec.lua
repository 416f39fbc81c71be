-- TLS against a real nginx, with certificates made for it.
local child = require "spec.support.child"
local load = require "spec.support.load"
local nginx = require "spec.support.nginx"

local MAKE = "cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 3 "
    .. "-keyout key.pem -out cert.pem "
    .. "-subj /CN=localhost -addext subjectAltName=DNS:localhost >/dev/null 2>&1"

local SERVERS = [[
    server {
        listen unix:%s/tls ssl;
        ssl_certificate %s/cert.pem; ssl_certificate_key %s/key.pem;
        location / { return 200 "$ssl_server_name"; }
        location /close { keepalive_timeout 0; return 200 "x"; }
        client_body_buffer_size 8m; client_max_body_size 8m;
        location /length { content_by_lua_block {
            ngx.req.read_body() ngx.print(#ngx.req.get_body_data()) } }
        location /large { content_by_lua_block { ngx.print(("0123456789"):rep(100000)) } }
    }
    server {
        listen unix:%s/mtls ssl;
        ssl_certificate %s/cert.pem; ssl_certificate_key %s/key.pem;
        ssl_verify_client on; ssl_client_certificate %s/cert.pem;
        location / { return 200 "hello"; }
    }
]]


describe("the load engine over TLS", function()
    local folder
    local function with_servers(body)
        child.with_folder(function(made)
            folder = made
            assert(os.execute(MAKE:format(folder)) == 0, "no openssl: run script/bootstrap test")
            os.execute("chmod 755 " .. folder)
            local f = folder
            nginx.with({ http = SERVERS:format(f, f, f, f, f, f, f), server = "" }, body)
        end)
    end

    local function run(socket, tls, more, script)
        more = more or {}
        more.requests, more.duration_ns = more.requests or 100, more.duration_ns or 2e10
        more.url = more.url or "https://localhost/"
        local job = load.job(folder .. "/" .. socket, more)
        tls.ca = not tls.no_ca and folder .. "/cert.pem" or nil
        job.tls = tls
        local done = load.run(job, script)
        assert.equal(0, done.status, done.stderr)
        return done
    end

    it("verifies, names the server, resumes, shows a certificate", function()
        with_servers(function()
            local done = run("tls", {})
            assert.same({}, done:errors())
            assert.equal(100, done:sum "responses")

            done = run("tls", {}, { url = "https://localhost/large" })
            assert.same({}, done:errors())
            assert.is_true(done:sum "bytes" > 100 * 1e6)

            -- More than a socket takes at once: what is encrypted waits for it.
            done = run("tls", {}, { requests = 10, connections = 4 }, [[
                local big = ("0123456789"):rep(300000)
                function request() return wrk.format("POST", "/length", nil, big) end
                function response(_, _, body) if body ~= "3000000" then error(body) end end
            ]])
            assert.same({}, done:errors())
            assert.equal(10, done:sum "responses")

            done = run("tls", {}, {}, [[
                function response(_, _, body) if not said then said = true print(body) end end
            ]])
            assert.equal("localhost\n", done.stdout)

            done = run("tls", {}, { url = "https://localhost/close" })
            assert.same({}, done:errors())
            assert.is_true(done:sum "resumed" >= 90, done:sum "resumed")

            done = run("tls", { resume = false }, { url = "https://localhost/close",
                requests = 10 })
            assert.equal(0, done:sum "resumed")

            done = run("tls", { no_ca = true }, { requests = 2, duration_ns = 1e8,
                connections = 1 })
            assert.is_truthy(done:texts("tls"):find("certificate not accepted", 1, true))

            done = run("tls", { no_ca = true, insecure = true })
            assert.same({}, done:errors())

            done = run("tls", {}, { url = "https://other/", duration_ns = 1e8 })
            assert.is_truthy(done:texts("tls"):find("hostname mismatch", 1, true))

            done = run("tls", {}, { pipeline = 5 })
            assert.same({}, done:errors())
            assert.equal(100, done:sum "responses")

            local cert, key = folder .. "/cert.pem", folder .. "/key.pem"
            done = run("mtls", { cert = cert, key = key })
            assert.same({}, done:errors())
            done = run("mtls", {}, { requests = 5 })
            assert.is_true(done:errors().status == 5)
        end)
    end)

    it("names a file that cannot be read", function()
        local job = load.job("/nonexistent", { url = "https://localhost/" })
        job.tls = { ca = "/nonexistent/ca.pem" }
        local done = load.run(job)
        assert.equal(1, done.status)
        assert.is_truthy(done.stderr:find("tls.ca /nonexistent/ca.pem", 1, true), done.stderr)
    end)
end)

local child = require "spec.support.child"
local events = require "spec.support.uv_events"
local support = require "spec.support.uv"

describe("moonlap.uv bears", support.with_uv(function(uv)
    after_each(function()
        assert.same({}, support.close_all(uv))
    end)

    -- A client and the server's end of its connection, given to `body` when they are connected.
    local function connection(body)
        local server, client = uv.new_tcp(), uv.new_tcp()
        assert(server:bind("127.0.0.1", 0))
        server:listen(1, function(err)
            assert(not err, err)
            local peer = uv.new_tcp()
            assert(server:accept(peer))
            server:close()
            body(client, peer)
        end)
        client:connect("127.0.0.1", server:getsockname().port, function(err)
            assert(not err, err)
        end)
        uv.run()
    end

    it("a peer that resets the connection", function()
        local seen
        connection(function(client, peer)
            peer:read_start(function(err, data)
                seen = err or data or "end"
                peer:close()
            end)
            client:close_reset()
        end)
        assert.equal("ECONNRESET", seen)
    end)

    it("a peer that only stops sending", function()
        local log = {}
        connection(function(client, peer)
            peer:read_start(function(_, data)
                log[#log + 1] = data or "peer: end"
                if not data then
                    peer:write("still here", function(err)
                        log[#log + 1] = err or "written"
                        peer:close()
                    end)
                end
            end)
            client:read_start(function(_, data)
                log[#log + 1] = data or "client: end"
                if not data then
                    client:close()
                end
            end)
            client:write "last words"
            client:shutdown()
        end)
        assert.same({ "last words", "peer: end", "written", "still here", "client: end" }, log)
    end)

    it("a callback that closes everything", function()
        local calls = 0
        local function close_all()
            calls = calls + 1
            uv.walk(function(handle)
                if not handle:is_closing() then
                    handle:close()
                end
            end)
        end
        local flags = { nonblock = true }
        for _ = 1, 5 do
            local fds = assert(uv.socketpair("stream", nil, flags, flags))
            for i = 1, 2 do
                local pipe = uv.new_pipe(false)
                pipe:open(fds[i])
                pipe:read_start(close_all)
                pipe:write "x"
            end
        end
        uv.run()
        assert.equal(1, calls)
    end)

    it("a callback that closes everything, of each kind", function()
        for kind, code in pairs(events.kinds) do
            local got = child.answer(events.frame .. [[
                local calls, closed = 0, 0
                local others = { uv.new_timer(), uv.new_idle(), uv.new_tcp(), uv.new_udp() }
                others[1]:start(100000, 0, function() calls = calls + 100 end)
                local function fn()
                    calls = calls + 1
                    uv.walk(function(handle)
                        if not handle:is_closing() then
                            handle:close(function() closed = closed + 1 end)
                        end
                    end)
                end
            ]] .. code .. [[

                local alive = uv.run()
                local left = 0
                uv.walk(function() left = left + 1 end)
                answer { calls = calls, alive = alive, left = left, closed = closed >= 4 }
            ]])
            assert.same({ calls = 1, alive = false, left = 0, closed = true }, got, kind)
        end
    end)

    it("a callback that closes the loop, of each kind", function()
        for kind, code in pairs(events.kinds) do
            local got = child.answer(events.frame .. [[
                local calls, said = 0, nil
                local keeper = uv.new_timer()
                keeper:start(100000, 0, function() calls = calls + 100 end)
                local function fn()
                    calls = calls + 1
                    said = said or select(3, uv.loop_close())
                    uv.walk(function(handle)
                        if not handle:is_closing() then handle:close() end
                    end)
                end
            ]] .. code .. [[

                local alive = uv.run()
                answer { calls = calls, said = said, alive = alive, closed = uv.loop_close() }
            ]])
            assert.same({ calls = 1, said = "EBUSY", alive = false, closed = 0 }, got, kind)
        end
    end)

    it("a socket that never becomes writable", function()
        local pipe, other = support.pair(uv) -- which never reads
        local log, waiting, turns = {}, {}, 0
        local block = ("x"):rep(1000000)
        for i = 1, 10 do
            pipe:write(block, function(err)
                log[#log + 1] = i .. tostring(err)
            end)
        end
        pipe:shutdown(function(err)
            log[#log + 1] = "shutdown " .. tostring(err)
        end)
        local timer = uv.new_timer()
        timer:start(1, 1, function()
            turns = turns + 1
            waiting[turns] = pipe:get_write_queue_size()
            if turns == 5 then
                timer:close()
                pipe:close(function()
                    log[#log + 1] = "closed"
                    other:close()
                end)
            end
        end)
        uv.run()
        assert.is_true(waiting[1] > 9000000)
        assert.equal(waiting[1], waiting[5])
        assert.same({ "1ECANCELED", "2ECANCELED", "3ECANCELED", "4ECANCELED", "5ECANCELED",
            "6ECANCELED", "7ECANCELED", "8ECANCELED", "9ECANCELED", "10ECANCELED",
            "shutdown ECANCELED", "closed" }, log)
    end)

    it("a file that is deleted while it is polled", function()
        child.with_folder(function(folder)
            child.write(folder .. "/file", "x")
            local poll, seen = uv.new_fs_poll(), nil
            assert(poll:start(folder .. "/file", 5, function(err)
                seen = err
                poll:close()
            end))
            local timer = uv.new_timer()
            timer:start(20, 0, function()
                timer:close()
                os.remove(folder .. "/file")
            end)
            uv.run()
            assert.equal("ENOENT", seen)
        end)
    end)

    it("a file that is deleted while it is watched", function()
        child.with_folder(function(folder)
            child.write(folder .. "/file", "x")
            local watcher = uv.new_fs_event()
            local deleted
            assert(watcher:start(folder .. "/file", {}, function(err, _, what)
                deleted = deleted or (not err and (what.rename or what.change))
                if not uv.fs_stat(folder .. "/file") and not watcher:is_closing() then
                    watcher:close()
                end
            end))
            os.remove(folder .. "/file")
            uv.run()
            assert.is_true(deleted)
        end)
    end)

    it("a storm of signals", function()
        local signal, storm = uv.new_signal(), uv.new_idle()
        local sent, seen = 0, 0
        signal:start("sigusr2", function(name)
            assert.equal("sigusr2", name)
            seen = seen + 1
            if sent == 5000 then
                signal:close()
            end
        end)
        storm:start(function()
            for _ = 1, 500 do
                sent = sent + 1
                uv.kill(uv.getpid(), "sigusr2")
            end
            if sent == 5000 then
                storm:close()
            end
        end)
        uv.run()
        assert.is_true(seen >= 1 and seen <= 5000)
    end)

    it("children that die at once", function()
        local ended = 0
        for _ = 1, 20 do
            local process
            process = assert(uv.spawn("false", {}, function(status, signal)
                assert.same({ 1, 0 }, { status, signal })
                ended = ended + 1
                process:close()
            end))
        end
        uv.run()
        assert.equal(20, ended)
    end)

    it("the end of descriptors, and goes on when there are some again", function()
        local got = child.answer([[
            local uv = require "moonlap.uv"
            local server, accepted, errors = uv.new_tcp(), {}, {}
            server:bind("127.0.0.1", 0)
            server:listen(128, function(err)
                local peer = uv.new_tcp()
                if not err and server:accept(peer) then
                    accepted[#accepted + 1] = peer
                else
                    peer:close()
                end
            end)
            local port = server:getsockname().port
            local clients = {}
            for i = 1, 60 do
                local client = uv.new_tcp()
                local ok, _, name = client:connect("127.0.0.1", port, function() end)
                clients[i] = client
                if not ok then errors[name] = true end
            end
            for _ = 1, 20 do uv.run "nowait" end
            for _, list in ipairs { clients, accepted } do
                for _, handle in ipairs(list) do handle:close() end
            end
            for _ = 1, 5 do uv.run "nowait" end
            local before, connected = #accepted, false
            local late = uv.new_tcp()
            late:connect("127.0.0.1", port, function(err)
                connected = not err
                late:close()
                server:close()
            end)
            uv.run()
            answer { refused = errors.EMFILE, connected = connected }
        ]], { prefix = "sh -c 'ulimit -n 40; exec \"$@\"' sh" })
        assert.is_true(got.refused)
        assert.is_true(got.connected)
    end)

    it("making what needs a descriptor where there is none, and leaves nothing", function()
        local got = child.answer([[
            local uv = require "moonlap.uv"
            local signal = uv.new_signal() -- libuv makes the pipe for signals once
            signal:start("sigusr2", function() end)
            signal:close()
            uv.run()
            local open = {}
            repeat
                local fd = uv.fs_open("/dev/null", "r", 0)
                open[#open + 1] = fd
            until not fd
            local errors = {}
            local function try(name, ...)
                local handle, _, code = uv[name](...)
                errors[#errors + 1] = name .. " " .. (handle and "works" or code)
            end
            try("new_tcp", "inet")
            try("new_udp", "inet")
            try("spawn", "true", {})
            try("spawn", "true", { stdio = { uv.new_pipe(false) } })
            try("socketpair")
            try("pipe")
            try("fs_opendir", ".")
            try("fs_mkstemp", "./madeXXXXXX")
            local left = {}
            uv.walk(function(handle)
                if not handle:is_closing() then
                    left[#left + 1] = handle:get_type()
                    handle:close()
                end
            end)
            for _, fd in ipairs(open) do uv.fs_close(fd) end
            uv.run()
            local tcp = uv.new_tcp "inet"
            answer { errors = errors, left = left, works = tcp ~= nil }
        ]], { prefix = "sh -c 'ulimit -n 40; exec \"$@\"' sh" })
        assert.same({
            "new_tcp EMFILE", "new_udp EMFILE", "spawn EMFILE", "spawn EMFILE",
            "socketpair EMFILE", "pipe EMFILE", "fs_opendir EMFILE", "fs_mkstemp EMFILE",
        }, got.errors)
        assert.same({ "pipe" }, got.left)
        assert.is_true(got.works)
    end)

    it("writing to nobody, where SIGPIPE is ignored", function()
        local got = child.answer [[
            local ffi = require "ffi"
            local uv = require "moonlap.uv"
            ffi.cdef "void (*signal(int, void (*)(int)))(int);"
            ffi.C.signal(uv.constants.SIGPIPE, ffi.cast("void (*)(int)", 1))
            local flags = { nonblock = true }
            local fds = uv.socketpair("stream", nil, flags, flags)
            local pipe, errors = uv.new_pipe(false), {}
            pipe:open(fds[1])
            uv.fs_close(fds[2])
            for i = 1, 2 do
                pipe:write("x", function(err)
                    errors[i] = err
                    if i == 2 then pipe:close() end
                end)
            end
            uv.run()
            answer(errors)
        ]]
        assert.same({ "EPIPE", "EPIPE" }, got)
    end)
end))

local ffi = require "ffi"
local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("Beside luv's API moonlap.uv", support.with_uv(function(uv)
    after_each(function()
        local left = uv.leaks()
        for _, leak in ipairs(left) do
            if not leak.closing then
                leak.handle:close()
            end
        end
        uv.run()
        assert.same({}, left)
    end)

    it("parks coroutines of uv.go in requests without callback", function()
        local order = {}
        uv.go(function(path)
            order[#order + 1] = "first"
            local stat = assert(uv.fs_stat(path))
            assert.equal("directory", stat.type)
            order[#order + 1] = "stat"
        end, ".")
        order[#order + 1] = "outside"
        uv.run()
        assert.same({ "first", "outside", "stat" }, order)
    end)

    it("returns errors there as luv's functions do", function()
        local results
        uv.go(function()
            results = { uv.fs_stat "/nowhere" }
        end)
        uv.run()
        assert.same({ nil, "ENOENT: no such file or directory: /nowhere", "ENOENT" }, results)
        uv.go(function()
            local pipe = uv.new_pipe(false)
            results = { pipe:connect "/nowhere" }
            pipe:close()
        end)
        uv.run()
        assert.same({ nil, "ENOENT", "ENOENT" }, results)
    end)

    it("reads folders there, so many entries at a time as are wanted", function()
        child.with_folder(function(folder)
            for i = 1, 5 do
                child.write(folder .. "/in/" .. i, "x")
            end
            local sizes, order = {}, {}
            uv.go(function()
                local dir = assert(uv.fs_opendir(folder .. "/in", nil, 2))
                order[#order + 1] = "opened"
                for entries in function() return dir:readdir() end do
                    sizes[#sizes + 1] = #entries
                end
                assert.is_true(dir:closedir())
                assert.same({ nil, "ENOENT: no such file or directory: nowhere", "ENOENT" },
                    { uv.fs_opendir "nowhere" })
                uv.fs_opendir(folder, function(_, opened)
                    order[#order + 1] = "by callback"
                    opened:closedir()
                end, 1)
                order[#order + 1] = "at once"
            end)
            order[#order + 1] = "outside"
            uv.run()
            assert.same({ 2, 2, 1 }, sizes)
            assert.same({ "outside", "opened", "at once", "by callback" }, order)
        end)
    end)

    it("starts children there without waiting for their end", function()
        local status
        uv.go(function()
            local process, pid = uv.spawn("true", {}, function(...)
                status = { ... }
            end)
            assert.is_number(pid)
            assert.is_nil(status)
            uv.wait(0)
            process:close()
        end)
        local other = uv.spawn("true", {})
        assert.is_userdata(other)
        uv.run()
        other:close()
        uv.run()
    end)

    it("leaves calls with a callback, and those outside, as they are", function()
        local seen
        uv.go(function()
            assert.is_userdata(uv.fs_stat(".", function(err, stat)
                seen = not err and stat.type
            end))
            assert.is_nil(seen)
            coroutine.wrap(function() -- a coroutine that is not uv.go's
                assert.is_table(uv.fs_stat ".")
            end)()
        end)
        assert.is_table(uv.fs_stat ".")
        uv.run()
        assert.equal("directory", seen)
    end)

    it("lets coroutines talk over sockets", function()
        local server = uv.new_tcp()
        assert(server:bind("127.0.0.1", 0))
        server:listen(8, function()
            local peer = uv.new_tcp()
            server:accept(peer)
            uv.go(function()
                for data in function() return peer:read() end do
                    assert.equal(0, peer:write(data:upper()))
                end
                peer:close()
            end)
        end)
        local answers, left = {}, 3
        for i = 1, 3 do
            uv.go(function()
                local client = uv.new_tcp()
                assert.equal(0, client:connect("127.0.0.1", server:getsockname().port))
                uv.wait(0)
                for j = 1, 3 do
                    client:write(("hello %d %d"):format(i, j))
                    local answer = client:read()
                    answers[#answers + 1] = answer
                end
                assert.equal(0, client:shutdown())
                assert.same({}, { client:read() })
                client:close()
                left = left - 1
                if left == 0 then
                    server:close()
                end
            end)
        end
        uv.run()
        table.sort(answers)
        assert.equal("HELLO 1 1 HELLO 1 2 HELLO 1 3 HELLO 2 1 HELLO 2 2 HELLO 2 3 HELLO 3 1"
            .. " HELLO 3 2 HELLO 3 3", table.concat(answers, " "))
    end)

    it("raises an error of a coroutine where it goes on", function()
        assert.has_error(function()
            uv.go(error, "at once", 0)
        end)
        local told
        uv.set_error_handler(function(err)
            told = err
        end)
        uv.go(function()
            uv.fs_stat "."
            error "later"
        end)
        uv.run()
        uv.set_error_handler(nil)
        assert.match("extensions_spec.lua:%d+: later", told)
        assert.has_error(function()
            uv.wait(1)
        end, "this needs a coroutine: call it inside uv.go")
    end)

    it("reads and writes memory without strings", function()
        local a, b = support.pair(uv)
        local memory = ffi.new("char[?]", 300000)
        ffi.fill(memory, 300000, 65)
        local sum, done = 0, 0
        b:read_start_pointer(function(err, pointer, length)
            assert.is_nil(err)
            if not pointer then
                b:close()
                return
            end
            assert.equal("AAA", ffi.string(pointer, 3))
            sum = sum + length
        end)
        assert.equal(3, a:try_write_pointer(memory, 3))
        a:write_pointer(memory, 300000, function(err)
            assert.is_nil(err)
            done = done + 1
        end)
        a:write_pointer(memory, 5, function()
            done = done + 1
            a:close()
        end)
        uv.run()
        assert.equal(300008, sum)
        assert.equal(2, done)
        assert.has_error(function()
            a:write_pointer("text", 3)
        end, "bad argument #1 to 'write_pointer' (cdata expected, got string)")
    end)

    it("keeps bytes for a pointer reader that had stopped", function()
        local a1, b1 = support.pair(uv)
        local a2, b2 = support.pair(uv)
        local streams, got, stopped = { b1, b2 }, {}, nil
        local function start(i)
            streams[i]:read_start_pointer(function(_, pointer, length)
                got[#got + 1] = ffi.string(pointer, length)
                if not stopped then
                    stopped = 3 - i
                    streams[stopped]:read_stop()
                end
            end)
        end
        start(1)
        start(2)
        a1:write "x"
        a2:write "x"
        uv.run "nowait"
        assert.same({ "x" }, got)
        start(stopped)
        uv.run "nowait"
        assert.same({ "x", "x" }, got)
        for _, stream in ipairs { a1, a2, b1, b2 } do
            stream:close()
        end
        uv.run()
    end)

    it("tells what was not closed, and where it was made", function()
        uv.trace_handles(true)
        local timer = uv.new_timer()
        uv.trace_handles(false)
        local idle = uv.new_idle()
        timer:start(1000, 0, function() end)
        timer:unref()
        local leaks = uv.leaks()
        assert.equal(2, #leaks)
        assert.equal(timer, leaks[1].handle)
        assert.same({ "timer", true, false, false }, { leaks[1].type, leaks[1].active,
            leaks[1].referenced, leaks[1].closing })
        assert.match("extensions_spec.lua:%d+$", leaks[1].made)
        assert.is_nil(leaks[2].made)
        local report = uv.leak_report()
        assert.match("^2 handles are not closed, 0 requests are under way\n", report)
        assert.match("uv_timer_t: 0x%x+, active, not referenced, made at [^\n]+:%d+\n", report)
        timer:close()
        idle:close()
        uv.run()
    end)
end))

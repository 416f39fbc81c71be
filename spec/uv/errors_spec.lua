local support = require "spec.support.uv"

describe("uv errors", support.with_uv(function(uv)
    it("are luv's triple", function()
        local result, text, name = uv.fs_stat("/nowhere/x")
        assert.is_nil(result)
        assert.equal("ENOENT: no such file or directory: /nowhere/x", text)
        assert.equal("ENOENT", name)
    end)

    it("have names, words and numbers that agree", function()
        local count = 0
        for name, number in pairs(uv.errno) do
            count = count + 1
            assert.equal(name, uv.err_name(number))
            assert.is_true(number < 0)
        end
        assert.is_true(count > 70, count .. " errors")
        assert.equal(-2, uv.errno.ENOENT)
        assert.equal(-4095, uv.errno.EOF)
        assert.equal("no such file or directory", uv.strerror(uv.errno.ENOENT))
        assert.equal("Unknown system error -9999", uv.err_name(-9999))
    end)

    it("translate the system's numbers", function()
        local text, name = uv.translate_sys_error(2)
        assert.equal("ENOENT: no such file or directory", text)
        assert.equal("ENOENT", name)
        assert.equal(0, select("#", uv.translate_sys_error(0)))
    end)

    -- The line is what luv names: the one that called the library.
    local function fault(func)
        local ok, text = pcall(func)
        assert.is_false(ok)
        local line = text:match "errors_spec%.lua:(%d+): "
        assert.equal(debug.getinfo(func, "S").linedefined, tonumber(line))
        return text:match ": (.*)"
    end

    it("blame the caller's line, the argument and the name that was called", function()
        assert.equal("bad argument #1 to 'fs_stat' (string expected, got no value)",
            fault(function() uv.fs_stat() end))
        assert.equal("bad argument #1 to 'fs_stat' (string expected, got nil)",
            fault(function() uv.fs_stat(nil) end))
        assert.equal("bad argument #2 to 'fs_stat' (function or callable table expected,"
            .. " got number)",
            fault(function() uv.fs_stat("x", 1) end))
        assert.equal("bad argument #2 to 'fs_chmod' (number expected, got string)",
            fault(function() uv.fs_chmod("x", "y") end))
        assert.equal("bad argument #1 to 'other' (string expected, got table)",
            fault(function() local other = uv.fs_unlink other {} end))
        assert.equal("Unknown file open flag 'q'", fault(function() uv.fs_open("x", "q", 0) end))
    end)

    it("name a handle that is no callback, flag or socket type by its kind", function()
        for _, kind in ipairs { "timer", "tcp", "idle", "async" } do
            local handle = uv["new_" .. kind](kind == "async" and function() end or nil)
            assert.equal("bad argument #2 to 'fs_stat' (function or callable table expected,"
                .. " got uv_" .. kind .. ")",
                fault(function() uv.fs_stat("x", handle) end))
            assert.equal("bad argument #1 to 'pipe' (table or nil expected, got uv_" .. kind .. ")",
                fault(function() uv.pipe(handle) end))
            assert.equal("bad argument #1 to 'socketpair' (socket type must be string or integer"
                .. " if set, got uv_" .. kind .. ")",
                fault(function() uv.socketpair(handle) end))
            assert.equal("bad argument #1 to 'fs_stat' (string expected, got userdata)",
                fault(function() uv.fs_stat(handle) end))
            handle:close()
        end
        uv.run()
    end)

    it("take address families by luv's words", function()
        for _, word in ipairs { "INET", "unspec", "nonsense" } do
            assert.equal("bad argument #1 to 'new_tcp' (invalid or unknown address family: '"
                .. word .. "')", fault(function() uv.new_tcp(word) end))
        end
        assert.equal("EINVAL", select(3, uv.new_tcp("packet")))
        assert.equal("EINVAL", select(3, uv.new_udp("unix")))
        for _, family in ipairs { "inet", "2", 2, "nonsense" } do
            uv.new_udp(family):close()
        end
        uv.run()
    end)

    -- luv 1.44 has none of these words: it crashes, waits for weeks or sends signal 0.
    it("are those of luv's newest for what older ones let through", function()
        local pipe, udp, signal = uv.new_pipe(false), uv.new_udp(), uv.new_signal()
        for call, words in pairs {
            [function() uv.write(pipe, {}) end] =
                "bad argument #2 to 'write' (expected non-empty table of strings)",
            [function() udp:try_send({}, "127.0.0.1", 9) end] =
                "bad argument #1 to 'try_send' (expected non-empty table of strings)",
            [function() uv.kill(uv.getpid(), "sigfoo") end] =
                "bad argument #2 to 'kill' (Invalid Signal name)",
            [function() signal:start("sigfoo", print) end] =
                "bad argument #1 to 'start' (Invalid Signal name)",
            [function() uv.spawn("true", { env = { "A=1", {} } }) end] =
                "bad argument #2 to 'spawn' (env table entries must be strings)",
            [function() uv.tty_set_vterm_state "x" end] =
                "bad argument #1 to 'tty_set_vterm_state' (invalid option 'x')",
        } do
            assert.equal(words, fault(call))
        end
        uv.sleep(-1)
        support.close_all(uv)
    end)

    it("count a method's arguments without the object", function()
        local dir = assert(uv.fs_opendir("."))
        assert.equal("bad argument #1 to 'readdir' (function or callable table expected,"
            .. " got string)",
            fault(function() dir:readdir("x") end))
        dir:closedir()
    end)

    it("name the caller in a coroutine and from compiled code", function()
        local ok, text = coroutine.resume(coroutine.create(function() uv.fs_stat() end))
        assert.is_false(ok)
        assert.truthy(text:find("errors_spec.lua:%d+: bad argument #1 to 'fs_stat'"))
        local last
        for i = 1, 300 do
            last = select(2, pcall(function() uv.fs_stat(i < 290 and "." or nil) end))
        end
        assert.truthy(last:find("errors_spec.lua:%d+: bad argument #1 to 'fs_stat'"))
    end)
end))

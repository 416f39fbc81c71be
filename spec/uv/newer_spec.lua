local child = require "spec.support.child"
local support = require "spec.support.uv"

-- What luv has had since 1.44.2, by the libuv that it takes. With the system's libuv most of it is
-- not there; script/test-uv-newer runs this file with others.
local SINCE = {
    [44] = "new_sem sem_post sem_trywait sem_wait thread_detach",
    [45] = [[clock_gettime cpumask_size get_available_memory metrics_info thread_getaffinity
        thread_setaffinity thread_getcpu]],
    [46] = "pipe_bind2 pipe_connect2",
    [48] = "thread_getpriority thread_setpriority",
    [49] = "utf16_length_as_wtf8 utf16_to_wtf8 wtf8_length_as_utf16 wtf8_to_utf16",
    [50] = "getrusage_thread thread_getname thread_setname udp_try_send2",
}

describe("Of luv's newer functions moonlap.uv", support.with_uv(function(uv)
    local minor = math.floor(uv.version() / 256) % 256

    after_each(function()
        assert.same({}, support.close_all(uv))
    end)

    -- A test of what libuv has had since a version; the first one below tells what older ones have.
    local function with(since, name, body)
        if minor >= since then
            it(name, body)
        end
    end

    it("has those that its libuv has, and no others", function()
        for since, names in pairs(SINCE) do
            for name in names:gmatch "%S+" do
                local wanted = since <= minor and "function" or "nil"
                assert.equal(wanted, type(uv[name]), name)
            end
        end
    end)

    it("counts with semaphores", function()
        local sem = uv.new_sem(2)
        assert.truthy(tostring(sem):find "^uv_sem_t: ")
        assert.is_true(sem:trywait())
        sem:wait()
        assert.is_false(uv.sem_trywait(sem))
        sem:post()
        assert.is_true(sem:trywait())
        assert.is_false(uv.new_sem():trywait())
    end)

    it("refuses in luv's words what is no semaphore", function()
        for words, call in pairs {
            ["value must be >= 0"] = function() uv.new_sem(-1) end,
            ["number expected, got table"] = function() uv.new_sem {} end,
            ["uv_sem expected, got no value"] = function() uv.sem_post() end,
            ["uv_sem expected, got number"] = function() uv.sem_wait(1) end,
            ["uv_sem expected, got userdata"] = function() uv.sem_trywait(uv.thread_self()) end,
        } do
            local ok, err = pcall(call)
            assert.is_false(ok)
            assert.truthy(err:find(words, 1, true), err)
        end
    end)

    it("shares semaphores with threads and work, as long as anybody has them", function()
        local begin, ready = uv.new_sem(), uv.new_sem()
        local thread = uv.new_thread(function(first, second)
            first:wait()
            second:post()
        end, begin, ready)
        assert.is_false(ready:trywait())
        begin:post()
        ready:wait()
        thread:join()
        local returned
        uv.new_work(function(sem)
            sem:post()
            return sem
        end, function(sem)
            returned = sem
        end):queue(ready)
        uv.run()
        ready = nil -- luacheck: ignore
        collectgarbage()
        collectgarbage()
        assert.is_true(returned:trywait())
    end)

    it("lets threads go", function()
        local done = uv.new_sem()
        local thread = uv.new_thread(function(sem) sem:post() end, done)
        assert.is_true(thread:detach())
        done:wait()
        assert.equal("ESRCH", (select(3, thread:join())))
        assert.equal("ESRCH", (select(3, uv.thread_detach(thread))))
        assert.equal("EINVAL", (select(3, uv.thread_self():detach())))
    end)

    with(45, "reads clocks, memory and what the loop has done", function()
        local before, after = uv.clock_gettime "monotonic", uv.clock_gettime "monotonic"
        assert.is_true(after.sec + after.nsec / 1e9 >= before.sec + before.nsec / 1e9)
        assert.is_true(math.abs(uv.clock_gettime("realtime").sec - os.time()) <= 2)
        assert.has_error(function() uv.clock_gettime "lunar" end)
        assert.is_true(uv.get_available_memory() > 0)
        local timer = uv.new_timer()
        timer:start(1, 0, function() timer:close() end)
        uv.run()
        local info = uv.metrics_info()
        assert.is_true(info.loop_count > 0 and info.events >= 0 and info.events_waiting >= 0)
    end)

    with(45, "chooses CPUs", function()
        local got = child.answer [[
            local uv = require "moonlap.uv"
            local self, size = uv.thread_self(), uv.cpumask_size()
            local before = self:getaffinity()
            local cpu = 1
            while not before[cpu] do cpu = cpu + 1 end
            local only = {}
            for i = 1, cpu do only[i] = i == cpu end
            local old = self:setaffinity(only, true)
            local now, same = self:getaffinity(), true
            for i = 1, size do
                same = same and now[i] == (i == cpu) and old[i] == before[i]
            end
            answer {
                size = #before == size, same = same, cpu = uv.thread_getcpu() == cpu,
                too_small = select(2, pcall(uv.thread_getaffinity, self, 1)),
            }
        ]]
        assert.is_true(got.size and got.same and got.cpu)
        assert.truthy(got.too_small:find("cpumask size must be >= ", 1, true))
    end)

    with(46, "binds and connects pipes to names that are no files", function()
        local name = ("\0moonlap-%d-%d"):format(uv.getpid(), math.random(1e9))
        local server, client, log = uv.new_pipe(), uv.new_pipe(), {}
        assert.equal(0, server:bind2(name))
        server:listen(1, function()
            log[#log + 1] = "connection"
            server:close()
        end)
        assert(client:connect2(name, nil, function(err)
            log[#log + 1] = err or "connected"
            client:close()
        end))
        uv.run()
        table.sort(log)
        assert.same({ "connected", "connection" }, log)
        local long = uv.new_pipe()
        assert.equal("EINVAL", (select(3, long:bind2(("x"):rep(300), { no_truncate = true }))))
        assert.equal("EINVAL", (select(3, long:connect2(("x"):rep(300), { no_truncate = true }))))
        assert.has_error(function() long:bind2("x", "y") end)
        long:close()
        uv.run()
    end)

    with(51, "sets one of a file's times, or both to now", function()
        local path = os.tmpname()
        local function times()
            local stat = uv.fs_stat(path)
            return stat.atime.sec, stat.mtime.sec
        end
        for _, ways in ipairs {
            { nil, nil }, { "omit", "omit" }, { uv.constants.FS_UTIME_OMIT, "omit" },
        } do
            assert(uv.fs_utime(path, 1000, 2000))
            assert(uv.fs_utime(path, ways[1], ways[2]))
            assert.same({ 1000, 2000 }, { times() })
        end
        assert(uv.fs_utime(path, "now", nil))
        local atime, mtime = times()
        assert.is_true(math.abs(atime - os.time()) < 100)
        assert.equal(2000, mtime)
        assert.is_nil(support.await(uv, function(callback)
            uv.fs_lutime(path, 3000, uv.constants.FS_UTIME_NOW, callback)
        end))
        atime, mtime = times()
        assert.equal(3000, atime)
        assert.is_true(math.abs(mtime - os.time()) < 100)
        local fd = assert(uv.fs_open(path, "r", 0))
        assert(uv.fs_futime(fd))
        assert.equal(3000, (times()))
        uv.fs_close(fd)
        os.remove(path)
        assert.has_error(function() uv.fs_utime(path, "later") end,
            "bad argument #2 to 'fs_utime' (invalid option 'later')")
    end)

    with(52, "takes over datagram sockets with flags, and tells fragments' size", function()
        local fds = assert(uv.socketpair("dgram"))
        local udp = uv.new_udp()
        assert.has_error(function() udp:open(fds[1], "x") end,
            "bad argument #2 to 'open' (expected integer or table)")
        assert(udp:open(fds[1], { reuseaddr = true }))
        udp:close()
        uv.fs_close(fds[2])
        assert.is_true(uv.fs_statfs("/").frsize > 0)
        local tcp = uv.new_tcp()
        tcp:bind("127.0.0.1", 0)
        assert.equal(0, tcp:keepalive(true, 10, 2, 3))
        assert.has_error(function() tcp:keepalive(true, 10, {}) end)
        tcp:close()
        uv.run()
    end)

    with(48, "asks for priorities", function()
        assert.is_number(uv.thread_self():getpriority())
        local ok, _, name = uv.thread_setpriority(uv.thread_self(), 100)
        assert.is_nil(ok)
        assert.equal("EINVAL", name)
    end)

    with(49, "converts Windows' text", function()
        local text = "h\195\169\240\159\153\130"
        local utf16 = uv.wtf8_to_utf16(text)
        assert.equal(8, #utf16)
        assert.equal(4, uv.wtf8_length_as_utf16(text))
        assert.equal(#text, uv.utf16_length_as_wtf8(utf16))
        assert.equal(text, uv.utf16_to_wtf8(utf16))
        assert.equal("", uv.utf16_to_wtf8(""))
        assert.equal("", uv.wtf8_to_utf16(""))
        local half = string.char(0xed, 0xa0, 0x80)
        assert.equal(half, uv.utf16_to_wtf8(uv.wtf8_to_utf16(half)))
        assert.equal("EINVAL", (select(3, uv.wtf8_to_utf16("\255"))))
    end)

    with(50, "names threads and reads what they have used", function()
        local got = child.answer [[
            local uv = require "moonlap.uv"
            assert(uv.thread_setname "moonlap spec")
            answer { name = uv.thread_self():getname(), used = uv.getrusage_thread().maxrss }
        ]]
        assert.equal("moonlap spec", got.name)
        assert.is_true(got.used > 0)
    end)

    with(50, "sends several datagrams at once", function()
        local server, client, got = uv.new_udp(), uv.new_udp(), {}
        server:bind("127.0.0.1", 0)
        client:bind("127.0.0.1", 0)
        server:recv_start(function(_, data)
            got[#got + 1] = data
            if #got == 3 then
                server:close()
                client:close()
            end
        end)
        local addr = { ip = "127.0.0.1", port = server:getsockname().port }
        assert.equal(3, client:try_send2 {
            { data = "one", addr = addr }, { data = { "t", "wo" }, addr = addr },
            { data = "three", addr = addr },
        })
        uv.run()
        assert.same({ "one", "two", "three" }, got)
    end)
end))

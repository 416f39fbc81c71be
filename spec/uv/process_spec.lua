local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("uv.spawn", support.with_uv(function(uv)
    -- Runs a program to its end; what its callback got.
    local function run(file, options)
        local process
        local status, signal = support.await(uv, function(callback)
            process = assert(uv.spawn(file, options, callback))
        end)
        process:close()
        uv.run()
        return status, signal
    end

    local function shell(script, options)
        options = options or {}
        options.args = { "-c", script }
        return run("sh", options)
    end

    it("tells the exit status and the signal", function()
        assert.same({ 0, 0 }, { run("true", {}) })
        assert.same({ 7, 0 }, { shell "exit 7" })
        assert.same({ 0, 9 }, { shell "kill -9 $$" })
    end)

    it("passes arguments, environment and folder, and connects descriptors", function()
        child.with_folder(function(folder)
            local fd = assert(uv.fs_open(folder .. "/out", "w", tonumber("600", 8)))
            local status = run("sh", {
                args = { "-c", 'echo "$0 $1 $2" $NAME $(pwd -P); cat; echo three >&3', 1, "two" },
                env = { "NAME=value", "PATH=" .. os.getenv "PATH" },
                cwd = "/",
                stdio = { nil, fd, nil, fd },
            })
            uv.fs_close(fd)
            assert.equal(0, status)
            assert.equal("1 two  value /\nthree\n", child.read(folder .. "/out"))
        end)
    end)

    it("makes pipes of streams that are not open", function()
        local stdin, stdout, stderr = uv.new_pipe(), uv.new_pipe(), uv.new_pipe()
        local seen = { "", "" }
        local ended
        local process, pid = uv.spawn("sh", {
            args = { "-c", "cat; echo bad >&2; exit 3" }, stdio = { stdin, stdout, stderr },
        }, function(status, signal) ended = { status, signal } end)
        assert.equal(pid, process:get_pid())
        for i, stream in ipairs { stdout, stderr } do
            stream:read_start(function(err, data)
                assert(not err, err)
                seen[i] = seen[i] .. (data or "")
                if not data then
                    stream:close()
                end
            end)
        end
        stdin:write(("0123456789"):rep(50000))
        stdin:shutdown(function() stdin:close() end)
        uv.run()
        process:close()
        uv.run()
        assert.same({ 3, 0 }, ended)
        assert.equal(500000, #seen[1])
        assert.equal("bad\n", seen[2])
    end)

    it("gives a child what libuv does", function()
        child.with_folder(function(folder)
            local magic = uv.version() < 0x013402 and "" or "#!/bin/sh\n"
            child.write(folder .. "/tool", magic .. "echo runs; kill -USR1 $$; echo lives")
            uv.fs_chmod(folder .. "/tool", tonumber("755", 8))
            local fd = assert(uv.fs_open(folder .. "/out", "w", tonumber("600", 8)))
            local function says(file, options)
                uv.fs_ftruncate(fd, 0)
                options.stdio = options.stdio or { nil, fd, fd }
                local how = { run(file, options) }
                return how, (child.read(folder .. "/out"):gsub("%z+", ""))
            end
            -- A file without "#!" is a script up to libuv 1.52.1; it is found in the child's PATH;
            -- and signals are not blocked or caught in it, though they may be here.
            local signal = uv.new_signal()
            signal:start("sigusr1", function() end)
            signal:unref()
            local path = { "PATH=" .. folder .. ":/bin:/usr/bin" }
            assert.same({ { 0, 10 }, "runs\n" }, { says("tool", { env = path }) })
            assert.same({ { 0, 10 }, "runs\n" }, { says(folder .. "/tool", {}) })
            signal:close()
            assert.same({ { 127, 0 }, "" }, { says("sh", {
                args = { "-c", "exec no-such-tool 2>/dev/null" }, env = path,
            }) })
            -- What stands in another's way: 4 is our 1, which is the child's own by then.
            local _, text = says("sh", {
                args = { "-c", "readlink /proc/self/fd/4" }, stdio = { nil, fd, fd, 0, 1 },
            })
            assert.equal(uv.fs_readlink "/proc/self/fd/1" .. "\n", text)
            _, text = says("sh", {
                args = { "-c", "[ $(ps -o sid= $$) = $$ ] && echo leads" }, detached = true,
            })
            assert.equal("leads\n", text)
            uv.fs_close(fd)
        end)
    end)

    it("leaves streams of one direction, and no descriptors", function()
        local function descriptors()
            local n = 0
            local listing = uv.fs_scandir "/proc/self/fd"
            while uv.fs_scandir_next(listing) do n = n + 1 end
            return n
        end
        local before = descriptors()
        for _, file in ipairs { "true", "no-such-program" } do
            local stdin, stdout, both = uv.new_pipe(), uv.new_pipe(), uv.new_pipe()
            local process
            process = uv.spawn(file, { stdio = { stdin, stdout, nil, both } }, function()
                process:close()
            end)
            local ways = {}
            for i, stream in ipairs { stdin, stdout, both } do
                ways[i] = { stream:is_readable(), stream:is_writable() }
                stream:close()
            end
            assert.same({ { false, true }, { true, false }, { true, true } }, ways)
            uv.run()
        end
        local process = uv.spawn("sleep", { args = { 1000 } }, function() error "was closed" end)
        assert.equal("EINVAL", select(3, process:fileno()))
        assert.is_true(process:is_active())
        process:kill()
        process:close()
        uv.run()
        assert.equal(before, descriptors())
    end)

    it("hears of children where SIGCHLD is ignored", function()
        local statuses = child.answer [[
            local ffi, uv = require "ffi", require "moonlap.uv"
            ffi.cdef "void (*signal(int, void (*)(int)))(int);"
            local SIG_IGN = ffi.cast("void (*)(int)", 1)
            ffi.C.signal(uv.constants.SIGCHLD, SIG_IGN)
            local statuses = {}
            for i = 1, 3 do
                local process
                process = uv.spawn("sh", { args = { "-c", "exit " .. i } }, function(status)
                    statuses[i] = status
                    process:close()
                end)
            end
            uv.run()
            answer(statuses)
        ]]
        assert.same({ 1, 2, 3 }, statuses)
    end)

    it("hears of many children that die at once", function()
        local statuses, processes = {}, {}
        for i = 1, 40 do
            processes[i] = assert(uv.spawn("sh", { args = { "-c", "exit " .. i } },
                function(status, signal)
                    statuses[i] = { status, signal }
                    processes[i]:close()
                end))
        end
        uv.run()
        for i = 1, 40 do
            assert.same({ i, 0 }, statuses[i])
        end
    end)

    it("signals a child until it has ended", function()
        for _, signal in ipairs { "sigterm", 15, nil } do
            local process
            local status, number = support.await(uv, function(callback)
                process = assert(uv.spawn("sleep", { args = { 1000 } }, callback))
                assert.equal("process", (process:get_type()))
                assert.is_true(process:is_active())
                assert.equal(0, process:kill(signal))
            end)
            assert.same({ 0, 15 }, { status, number })
            assert.equal("ESRCH", select(3, process:kill()))
            process:close()
            uv.run()
            assert.equal("ESRCH", select(3, uv.process_kill(process)))
        end
        assert.equal(0, uv.kill(uv.getpid(), 0))
        assert.equal("ESRCH", select(3, uv.kill(2 ^ 22 + 1)))
    end)

    it("has no callback when the child is forgotten", function()
        local process = assert(uv.spawn("true", {}, function() error "was closed" end))
        process:close()
        uv.run()
        process = assert(uv.spawn("sleep", { args = { 1000 } }))
        process:unref()
        uv.run()
        process:kill "sigkill"
        process:close()
        uv.run()
    end)

    it("fails without leaving anything", function()
        local never = function() error "never started" end
        for _, case in ipairs {
            { "ENOENT", "no-such-program", {} },
            { "ENOENT", "true", { cwd = "/no/such/folder" } },
            { "EACCES", "/etc/passwd", {} },
            { "EBADF", "true", { stdio = { 1e6 } } },
        } do
            local process, text, name = uv.spawn(case[2], case[3], never)
            assert.is_nil(process)
            assert.equal(case[1], name)
            assert.equal(name .. ": " .. uv.strerror(uv.errno[name]), text)
        end
        uv.run()
        uv.walk(function(handle) error(tostring(handle) .. " is left") end)
    end)

    it("refuses bad options in luv's words", function()
        local closed = uv.new_pipe()
        closed:close()
        uv.run()
        for text, options in pairs {
            ["#3 to 'spawn' (args option must be table)"] = { args = 1 },
            ["#2 to 'spawn' (stdio option must be table)"] = { stdio = 1 },
            ["#2 to 'spawn' (stdio table entries must be nil, uv_stream_t, or integer)"] =
                { stdio = { "a" } },
            ["#4 to 'spawn' (Expected uv_stream userdata)"] = { stdio = { io.stdout } },
            ["#2 to 'spawn' (stdio entry 1 is a closed stream)"] = { stdio = { closed } },
            ["#2 to 'spawn' (env option must be table)"] = { env = 1 },
            ["#2 to 'spawn' (cwd option must be string)"] = { cwd = {} },
            ["#2 to 'spawn' (uid option must be number)"] = { uid = "1" },
            ["#2 to 'spawn' (gid option must be number)"] = { gid = {} },
        } do
            local ok, err = pcall(function() uv.spawn("true", options) end)
            assert.is_false(ok)
            assert.equal("bad argument " .. text, err:match ": (.*)")
        end
    end)

    it("fails when descriptors run out", function()
        local names = child.answer [[
            local uv = require "moonlap.uv"
            local ffi, names = require "ffi", {}
            ffi.cdef "int setrlimit(int resource, const uint64_t limit[2]);"
            local RLIMIT_NOFILE = 7
            assert(ffi.C.setrlimit(RLIMIT_NOFILE, ffi.new("uint64_t[2]", 60, 60)) == 0)
            local fds, fd, _ = {}
            repeat
                fd, _, names[1] = uv.fs_open("/dev/null", "r", 0)
                fds[#fds + 1] = fd
            until not fd
            local pipe = uv.new_pipe()
            names[2] = select(3, uv.spawn("true", { stdio = { pipe } }))
            uv.fs_open("/dev/null", "r", 0, function(err) names[3] = err:match "^%w+" end)
            uv.run()
            for _, open in ipairs(fds) do uv.fs_close(open) end
            answer(names)
        ]]
        assert.same({ "EMFILE", "EMFILE", "EMFILE" }, names)
    end)
end))

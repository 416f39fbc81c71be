local child = require "spec.support.child"
local support = require "spec.support.uv"

local MODE = tonumber("644", 8)

describe("uv.fs", support.with_uv(function(uv)
    local function in_folder(body)
        return function()
            child.with_folder(body)
        end
    end

    -- Each function, called at once and with a callback, must say the same.
    local function both(name, ...)
        local count, args = select("#", ...), { ... }
        local now = { uv[name](unpack(args, 1, count)) }
        local later = { support.await(uv, function(callback)
            args[count + 1] = callback
            assert(uv[name](unpack(args, 1, count + 1)))
        end) }
        if now[1] == nil then
            assert.equal(now[2], later[1])
            return nil, now[2], now[3]
        end
        assert.is_nil(later[1])
        assert.same(now[1], later[2])
        return now[1]
    end

    it("writes, reads and cuts a file", in_folder(function(folder)
        local path = folder .. "/file"
        local fd = assert(uv.fs_open(path, "w+", MODE))
        assert.equal(5, uv.fs_write(fd, "hello"))
        assert.equal(7, uv.fs_write(fd, { " w", "or", 1, "d!" }))
        assert.equal(1, uv.fs_write(fd, "H", 0))
        assert.equal("Hello wor1d!", uv.fs_read(fd, 100, 0))
        assert.equal("wor", uv.fs_read(fd, 3, 6))
        assert.equal("", uv.fs_read(fd, 10))
        assert.is_true(uv.fs_ftruncate(fd, 5))
        assert.equal(5, uv.fs_fstat(fd).size)
        assert.is_true(uv.fs_fsync(fd))
        assert.is_true(uv.fs_close(fd))
        assert.equal("Hello", child.read(path))
        assert.equal("EBADF: bad file descriptor", (select(2, uv.fs_close(fd))))
    end))

    it("does the same in threads", in_folder(function(folder)
        local path = folder .. "/file"
        local log = {}
        uv.fs_open(path, "w+", MODE, function(err, fd)
            assert(not err, err)
            uv.fs_write(fd, { "one ", "two" }, function(_, written)
                log[#log + 1] = written
                uv.fs_write(fd, "O", 0, function(_, more)
                    log[#log + 1] = more
                    uv.fs_read(fd, 100, 0, function(_, text)
                        log[#log + 1] = text
                        uv.fs_close(fd, function(_, closed)
                            log[#log + 1] = closed
                        end)
                    end)
                end)
            end)
            collectgarbage() -- what is being written must be kept
        end)
        uv.run()
        assert.same({ 7, 1, "One two", true }, log)
    end))

    it("keeps data that nobody else holds until it is written", in_folder(function(folder)
        local path = folder .. "/file"
        local fd = assert(uv.fs_open(path, "w", MODE))
        local size = 100000
        local errors = {}
        for i = 0, 19 do
            uv.fs_write(fd, { ("x"):rep(size) .. i, "\n" }, i * (size + 3), function(err)
                errors[#errors + 1] = err
            end)
            collectgarbage()
        end
        uv.run()
        uv.fs_close(fd)
        assert.same({}, errors)
        local count = 0
        for number in child.read(path):gmatch(("x"):rep(10) .. "x*(%d+)\n") do
            assert.equal(count, tonumber(number))
            count = count + 1
        end
        assert.equal(20, count)
    end))

    it("opens in every mode", in_folder(function(folder)
        local path = folder .. "/file"
        for _, flags in ipairs { "r", "r+", "wx", "ax+", "xw+" } do
            local fd, _, name = uv.fs_open(path, flags, MODE)
            if flags:find "r" then
                assert.equal("ENOENT", name)
            else
                assert.equal("number", type(fd), flags)
                uv.fs_close(fd)
                assert.equal("EEXIST", select(3, uv.fs_open(path, flags, MODE)))
                uv.fs_unlink(path)
            end
        end
        local fd = assert(uv.fs_open(path, "a", MODE))
        uv.fs_write(fd, "tail", 0)
        uv.fs_write(fd, "s", 0)
        uv.fs_close(fd)
        assert.equal("tails", child.read(path))
        fd = assert(uv.fs_open(path, uv.constants.O_RDONLY, 0))
        assert.equal("EBADF", select(3, uv.fs_write(fd, "x")))
        uv.fs_close(fd)
    end))

    it("tells a file's statistics", in_folder(function(folder)
        local path = folder .. "/file"
        child.write(path, "12345")
        assert.is_true(both("fs_utime", path, 1000.5, 2000.25))
        assert.is_true(both("fs_chmod", path, tonumber("640", 8)))
        local stat = both("fs_stat", path)
        assert.equal(5, stat.size)
        assert.equal("file", stat.type)
        assert.equal(tonumber("100640", 8), stat.mode)
        assert.same({ sec = 1000, nsec = 5e8 }, stat.atime)
        assert.same({ sec = 2000, nsec = 25e7 }, stat.mtime)
        assert.equal(uv.getuid(), stat.uid)
        local names = {}
        for name in pairs(stat) do
            names[#names + 1] = name
        end
        table.sort(names)
        assert.equal("atime birthtime blksize blocks ctime dev flags gen gid ino mode mtime nlink"
            .. " rdev size type uid", table.concat(names, " "))
        assert.equal("char", uv.fs_stat("/dev/null").type)
        assert.equal("directory", uv.fs_lstat(folder).type)
        assert.is_true(uv.fs_statfs(folder).blocks > 0)
    end))

    it("says the same at once and later", in_folder(function(folder)
        local path, nowhere = folder .. "/file", folder .. "/nowhere"
        child.write(path, "12345")
        assert.is_true(both("fs_access", path, "r"))
        assert.is_false(both("fs_access", nowhere, 0))
        assert.is_true(both("fs_chown", path, -1, -1))
        assert.is_true(both("fs_lchown", path, -1, -1))
        assert.is_true(both("fs_lutime", path, 5, 6))
        assert.is_true(uv.fs_symlink(path, folder .. "/link"))
        -- At once the shim asks the kernel, later libuv does.
        for _, any in ipairs { path, folder, folder .. "/link", "/dev/null", "/dev/full", "." } do
            both("fs_stat", any)
            both("fs_lstat", any)
        end
        assert.equal("link", both("fs_lstat", folder .. "/link").type)
        local fd = assert(uv.fs_open(path, "r", MODE))
        assert.equal(5, both("fs_fstat", fd).size)
        assert(uv.fs_close(fd))
        assert.equal(path, both("fs_readlink", folder .. "/link"))
        assert.equal(uv.fs_realpath(path), both("fs_realpath", path))
        assert.is_true(both("fs_copyfile", path, folder .. "/copy"))
        for _, name in ipairs { "fs_stat", "fs_lstat", "fs_unlink", "fs_rmdir", "fs_readlink",
            "fs_realpath", "fs_statfs", "fs_scandir", "fs_opendir" } do
            local _, text, code = both(name, nowhere)
            assert.equal("ENOENT: no such file or directory: " .. nowhere, text, name)
            assert.equal("ENOENT", code)
        end
        for _, name in ipairs { "fs_rename", "fs_link", "fs_copyfile" } do
            local _, text = both(name, nowhere, path)
            assert.equal("ENOENT: no such file or directory: " .. nowhere .. " -> " .. path, text)
        end
        for _, name in ipairs { "fs_fstat", "fs_fsync", "fs_fdatasync", "fs_close" } do
            assert.equal("EBADF: bad file descriptor", (select(2, both(name, 1e6))))
        end
    end))

    it("copies between open files", in_folder(function(folder)
        child.write(folder .. "/from", "0123456789")
        local from = assert(uv.fs_open(folder .. "/from", "r", 0))
        local to = assert(uv.fs_open(folder .. "/to", "w", MODE))
        assert.equal(4, uv.fs_sendfile(to, from, 3, 4))
        uv.fs_close(from)
        uv.fs_close(to)
        assert.equal("3456", child.read(folder .. "/to"))
        assert.equal("EEXIST", select(3,
            uv.fs_copyfile(folder .. "/from", folder .. "/to", { excl = true })))
    end))

    it("cancels what has not begun", in_folder(function(folder)
        local canceled, ended = 0, 0
        local requests = {}
        for i = 1, 200 do
            requests[i] = uv.fs_stat(folder, function(err)
                ended = ended + 1
                if err then
                    assert.equal("ECANCELED: operation canceled: " .. folder, err)
                    canceled = canceled + 1
                end
            end)
        end
        local accepted = 0
        for i = 200, 1, -1 do
            accepted = accepted + (uv.cancel(requests[i]) == 0 and 1 or 0)
        end
        uv.run()
        assert.equal(200, ended)
        assert.equal(accepted, canceled)
        assert.equal("EBUSY", select(3, uv.cancel(requests[1])))
    end))

    it("is compiled with the loop that calls it", function()
        local has_loop = child.answer [[
            local uv = require "moonlap.uv"
            local traceinfo = require("jit.util").traceinfo
            local function sizes(n)
                local sum = 0
                for _ = 1, n do sum = sum + uv.fs_stat(".").size end
                return sum
            end
            local started
            local has_loop = false
            jit.attach(function(what, trace, func)
                if what == "start" then started = func end
                if what == "stop" and started == sizes then
                    has_loop = has_loop or traceinfo(trace).linktype == "loop"
                end
            end, "trace")
            -- LuaJIT tries again at random when something else got in between.
            for _ = 1, 200 do
                if not has_loop then sizes(200) end
            end
            answer(has_loop)
        ]]
        assert.is_true(has_loop)
    end)

    it("may be called by a finalizer while a result is made", function()
        local seen = child.answer [[
            local uv = require "moonlap.uv"
            local wrong, finalized = 0, 0
            local function finalizer()
                finalized = finalized + 1
                uv.fs_stat "/dev/null"
            end
            collectgarbage("setpause", 1)
            for _ = 1, 2000 do
                getmetatable(newproxy(true)).__gc = finalizer
                if uv.fs_stat(".").type ~= "directory" then wrong = wrong + 1 end
            end
            answer { wrong = wrong, finalized = finalized > 0 }
        ]]
        assert.same({ wrong = 0, finalized = true }, seen)
    end)
end))

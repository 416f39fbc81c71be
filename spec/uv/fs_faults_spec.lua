local child = require "spec.support.child"
local support = require "spec.support.uv"

local MODE = tonumber("600", 8)

describe("uv.fs meets", support.with_uv(function(uv)
    -- The error's name, at once and with a callback, which must agree.
    local function failure(name, ...)
        local count, args = select("#", ...), { ... }
        local result, text, code = uv[name](...)
        assert.is_nil(result)
        local err = support.await(uv, function(callback)
            args[count + 1] = callback
            assert(uv[name](unpack(args, 1, count + 1)))
        end)
        assert.equal(text, err)
        return code
    end

    it("a full disk", function()
        local fd, text = uv.fs_open("/dev/full", "w", 0)
        if not fd then
            return pending(text)
        end
        assert.equal("ENOSPC", failure("fs_write", fd, "x"))
        assert.equal("ENOSPC", failure("fs_write", fd, { "x", "y" }, 0))
        uv.fs_close(fd)
    end)

    it("huge paths", function()
        local long = ("x"):rep(1e6)
        for _, name in ipairs { "fs_stat", "fs_unlink", "fs_readlink", "fs_scandir", "fs_opendir",
            "fs_realpath", "fs_statfs", "fs_rmdir" } do
            assert.equal("ENAMETOOLONG", failure(name, long))
        end
        assert.equal("ENAMETOOLONG", select(3, uv.fs_mkdtemp(long .. "XXXXXX")))
        assert.equal("ENAMETOOLONG", failure("fs_open", long, "r", 0))
        assert.equal("ENAMETOOLONG", failure("fs_rename", "x", long))
        assert.equal("ENAMETOOLONG", select(3, uv.chdir(long)))
    end)

    it("descriptors that are none", function()
        local closed = assert(uv.fs_open(".", "r", 0))
        assert(uv.fs_close(closed))
        for _, fd in ipairs { -1, 1e6, 2 ^ 31, closed } do
            assert.equal("EBADF", failure("fs_fstat", fd))
            assert.equal("EBADF", failure("fs_close", fd))
            assert.equal("EBADF", failure("fs_read", fd, 10))
            assert.equal("EBADF", failure("fs_write", fd, "x"))
            assert.equal("EBADF", failure("fs_ftruncate", fd, 0))
            assert.equal("EBADF", failure("fs_sendfile", fd, fd, 0, 1))
        end
        local folder = assert(uv.fs_open(".", "r", 0))
        assert.equal("EISDIR", failure("fs_read", folder, 10))
        uv.fs_close(folder)
    end)

    it("files that are deleted under it", function()
        child.with_folder(function(folder)
            local path = folder .. "/file"
            local fd = assert(uv.fs_open(path, "w+", MODE))
            uv.fs_write(fd, "still here")
            uv.fs_unlink(path)
            assert.equal(0, uv.fs_fstat(fd).nlink)
            assert.equal("still here", uv.fs_read(fd, 100, 0))
            uv.fs_close(fd)
            assert.equal("ENOENT", failure("fs_stat", path))

            uv.fs_mkdir(path, tonumber("700", 8))
            child.write(path .. "/entry", "")
            local dir, listing = assert(uv.fs_opendir(path)), assert(uv.fs_scandir(path))
            uv.fs_unlink(path .. "/entry")
            uv.fs_rmdir(path)
            assert.equal("entry", (uv.fs_scandir_next(listing)))
            while dir:readdir() do end -- whether the system still shows it is its own affair
            assert.is_true(dir:closedir())
        end)
    end)

    it("callbacks that raise errors, and goes on", function()
        local seen = child.answer [[
            local uv = require "moonlap.uv"
            local seen = { errors = 0, ended = 0 }
            uv.set_error_handler(function(err)
                seen.errors = seen.errors + 1
                seen[err:match "user.lua:%d+: (%w+)"] = true -- in which order is not fixed
            end)
            for i = 1, 20 do
                uv.fs_stat(".", function()
                    seen.ended = seen.ended + 1
                    if i % 2 == 0 then error "boom" end
                end)
            end
            uv.fs_opendir(".", function(_, dir)
                dir:readdir(function() dir:closedir() error "bang" end)
            end)
            uv.run()
            seen.alive = uv.loop_alive()
            answer(seen)
        ]]
        assert.same({ errors = 11, ended = 20, boom = true, bang = true, alive = false }, seen)
    end)
end))

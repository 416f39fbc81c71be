local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("uv.fs, of folders", support.with_uv(function(uv)
    local function with_files(body)
        return function()
            child.with_folder(function(folder)
                for _, name in ipairs { "a", "b", "c" } do
                    child.write(folder .. "/" .. name, name)
                end
                assert.is_true(uv.fs_mkdir(folder .. "/d", tonumber("755", 8)))
                body(folder)
            end)
        end
    end

    local function entries(listing)
        local names = {}
        for name, kind in function() return uv.fs_scandir_next(listing) end do
            names[#names + 1] = name .. ":" .. kind
        end
        return table.concat(names, " ")
    end

    local ALL = "a:file b:file c:file d:directory"

    it("scans at once", with_files(function(folder)
        local listing = uv.fs_scandir(folder)
        assert.truthy(tostring(listing):find "^uv_fs_t: 0x")
        assert.equal("userdata", type(listing))
        assert.equal(ALL, entries(listing))
        assert.equal(0, select("#", uv.fs_scandir_next(listing)))
    end))

    it("scans in a thread, and the callback gets the request", with_files(function(folder)
        local request, got
        request = uv.fs_scandir(folder, function(err, listing)
            assert(not err, err)
            got = listing
        end)
        assert.equal("fs", uv.req_get_type(request))
        uv.run()
        assert.equal(request, got)
        assert.equal(ALL, entries(got))
    end))

    it("scans for what has no entries or is no folder", with_files(function(folder)
        assert.equal("", entries(uv.fs_scandir(folder .. "/d")))
        assert.equal("ENOTDIR", select(3, uv.fs_scandir(folder .. "/a")))
        assert.has_error(function() uv.fs_scandir_next("x") end,
            "bad argument #1 to 'fs_scandir_next' (uv_req expected, got string)")
    end))

    local function drain(dir)
        local names = {}
        for list in function() return dir:readdir() end do
            assert.is_true(#list <= 3)
            for _, entry in ipairs(list) do
                names[#names + 1] = entry.name .. ":" .. entry.type
            end
        end
        table.sort(names)
        return table.concat(names, " ")
    end

    it("reads in pieces, at once", with_files(function(folder)
        local dir = assert(uv.fs_opendir(folder, nil, 3))
        assert.truthy(tostring(dir):find "^uv_dir_t: 0x")
        assert.equal(ALL, drain(dir))
        assert.is_true(uv.fs_closedir(dir))
    end))

    it("reads in pieces, in threads", with_files(function(folder)
        local names, closed = {}, nil
        uv.fs_opendir(folder, function(err, dir)
            assert(not err, err)
            local function more(fault, list)
                assert(not fault, fault)
                for _, entry in ipairs(list or {}) do
                    names[#names + 1] = entry.name
                end
                if list then
                    return dir:readdir(more)
                end
                dir:closedir(function(_, success) closed = success end)
            end
            dir:readdir(more)
        end, 2)
        uv.run()
        table.sort(names)
        assert.same({ "a", "b", "c", "d" }, names)
        assert.is_true(closed)
    end))

    it("refuses a folder that is closed or in use", with_files(function(folder)
        local dir = assert(uv.fs_opendir(folder))
        dir:readdir(function() end)
        assert.equal("EBUSY", select(3, dir:closedir()))
        uv.run()
        assert.is_true(dir:closedir())
        assert.equal("EBADF", select(3, dir:readdir()))
        assert.equal("EBADF", select(3, dir:closedir()))
        assert.has_error(function() uv.fs_closedir({}) end,
            "bad argument #1 to 'fs_closedir' (uv_dir expected, got table)")
    end))

    it("closes folders that were forgotten, also at the end", function()
        local left = child.answer [[
            local uv = require "moonlap.uv"
            local function descriptors()
                local count, listing = 0, uv.fs_scandir "/proc/self/fd"
                while uv.fs_scandir_next(listing) do count = count + 1 end
                return count
            end
            local before = descriptors()
            for _ = 1, 50 do uv.fs_opendir "." end
            collectgarbage() collectgarbage()
            answer(descriptors() - before)
            dir = uv.fs_opendir "."
            dir:readdir(function() end)
        ]]
        assert.equal(0, left)
    end)

    it("makes temporary folders and files", with_files(function(folder)
        local made = assert(uv.fs_mkdtemp(folder .. "/tXXXXXX"))
        assert.equal("directory", uv.fs_stat(made).type)
        local err, later = support.await(uv, function(callback)
            uv.fs_mkdtemp(folder .. "/tXXXXXX", callback)
        end)
        assert.is_nil(err)
        assert.equal("directory", uv.fs_stat(later).type)

        local fd, path = uv.fs_mkstemp(folder .. "/tXXXXXX")
        assert.equal(2, uv.fs_write(fd, "hi"))
        uv.fs_close(fd)
        assert.equal("hi", child.read(path))
        assert.equal("EINVAL: invalid argument: x", (select(2, uv.fs_mkdtemp("x"))))
        assert.equal("EINVAL", select(3, uv.fs_mkstemp("x")))
        assert.equal("ENOTEMPTY", select(3, uv.fs_rmdir(folder)))
    end))
end))

-- file MODE N PATH: N times a file is opened, its statistics asked, 4 KiB read, and it is closed.
-- MODE: sync, or async with callbacks, four files at a time.
local uv = require(arg[1])
local measure = require "measure"
local mode, n, path = arg[2], tonumber(arg[3]), arg[4]

local started, done = 0, 0

local function sync()
    for _ = 1, n do
        local fd = assert(uv.fs_open(path, "r", 438))
        local stat = assert(uv.fs_fstat(fd))
        local text = assert(uv.fs_read(fd, 4096, 0))
        assert(#text == math.min(stat.size, 4096))
        assert(uv.fs_close(fd))
        done = done + 1
    end
end

local function start_one()
    started = started + 1
    uv.fs_open(path, "r", 438, function(err, fd)
        assert(not err, err)
        uv.fs_fstat(fd, function(stat_err, stat)
            assert(not stat_err, stat_err)
            uv.fs_read(fd, 4096, 0, function(read_err, text)
                assert(not read_err, read_err)
                assert(#text == math.min(stat.size, 4096))
                uv.fs_close(fd, function(close_err)
                    assert(not close_err, close_err)
                    done = done + 1
                    if started < n then
                        start_one()
                    end
                end)
            end)
        end)
    end)
end

local start = measure.cpu_seconds()
if mode == "sync" then
    sync()
else
    for _ = 1, 4 do
        start_one()
    end
    uv.run()
end
measure.report(measure.cpu_seconds() - start, done)

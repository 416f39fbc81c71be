--- File statistics as luv's tables: `fs_stat` and its like, `fs_statfs`, `fs_poll`.
-- @module moonlap.uv.fs_stat
local ffi = require "ffi"
local bit = require "bit"
local C = require "moonlap.uv.ffi"

local _M = {}

local tonumber, band = tonumber, bit.band

ffi.cdef [[
void *uv_fs_get_statbuf(const void *req);
void *uv_fs_get_ptr(const void *req);
]]

-- uv_stat_t, which libuv 1 can't change. int64_t though libuv says uint64_t: luv's numbers have
-- been through one, and it becomes a double in one instruction.
local stat_ptr = ffi.typeof [[const struct {
    int64_t dev, mode, nlink, uid, gid, rdev, ino, size, blksize, blocks, flags, gen;
    struct { long sec, nsec; } atime, mtime, ctime, birthtime;
} *]]
local statfs_ptr = ffi.typeof
    "const struct { int64_t type, bsize, blocks, bfree, bavail, files, ffree, spare[4]; } *"

local S_IFMT = 0xf000
local KIND = {
    [0x1000] = "fifo", [0x2000] = "char", [0x4000] = "directory", [0x6000] = "block",
    [0x8000] = "file", [0xa000] = "link", [0xc000] = "socket",
}


--- The table that luv makes of a uv_stat_t.
-- @param stat a pointer to it
-- @treturn table `dev mode nlink uid gid rdev ino size blksize blocks flags gen`; the times
-- `atime mtime ctime birthtime` as `{sec, nsec}`; `type`, as a word
function _M.stat_table(stat)
    stat = stat_ptr(stat)
    local mode = tonumber(stat.mode)
    return {
        dev = tonumber(stat.dev),
        mode = mode,
        nlink = tonumber(stat.nlink),
        uid = tonumber(stat.uid),
        gid = tonumber(stat.gid),
        rdev = tonumber(stat.rdev),
        ino = tonumber(stat.ino),
        size = tonumber(stat.size),
        blksize = tonumber(stat.blksize),
        blocks = tonumber(stat.blocks),
        flags = tonumber(stat.flags),
        gen = tonumber(stat.gen),
        atime = { sec = tonumber(stat.atime.sec), nsec = tonumber(stat.atime.nsec) },
        mtime = { sec = tonumber(stat.mtime.sec), nsec = tonumber(stat.mtime.nsec) },
        ctime = { sec = tonumber(stat.ctime.sec), nsec = tonumber(stat.ctime.nsec) },
        birthtime = { sec = tonumber(stat.birthtime.sec), nsec = tonumber(stat.birthtime.nsec) },
        type = KIND[band(mode, S_IFMT)],
    }
end


--- The statistics in a finished request.
-- @param req the uv_fs_t
-- @treturn table as `stat_table` makes it
function _M.stat_result(req)
    return _M.stat_table(C.uv_fs_get_statbuf(req))
end


--- The file system's statistics in a finished request.
-- @param req the uv_fs_t
-- @treturn table `type bsize blocks bfree bavail files ffree`
function _M.statfs_result(req)
    local statfs = statfs_ptr(C.uv_fs_get_ptr(req))
    return {
        type = tonumber(statfs.type),
        bsize = tonumber(statfs.bsize),
        blocks = tonumber(statfs.blocks),
        bfree = tonumber(statfs.bfree),
        bavail = tonumber(statfs.bavail),
        files = tonumber(statfs.files),
        ffree = tonumber(statfs.ffree),
    }
end


return _M

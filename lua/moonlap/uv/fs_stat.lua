--- File statistics as luv's tables: `fs_stat` and its like, `fs_statfs`, `fs_poll`.
-- @module moonlap.uv.fs_stat
local ffi = require "ffi"
local bit = require "bit"
local errors = require "moonlap.uv.errors"
local C = require "moonlap.uv.ffi"

local _M = {}

local tonumber, band = tonumber, bit.band
local ENOENT = errors.api.errno.ENOENT

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
    "const struct { int64_t type, bsize, blocks, bfree, bavail, files, ffree, frsize, spare[3]; } *"

local HAS_FRSIZE = C.uv_version() >= 0x013400

local S_IFMT = 0xf000
local KIND = {
    [0x1000] = "fifo", [0x2000] = "char", [0x4000] = "directory", [0x6000] = "block",
    [0x8000] = "file", [0xa000] = "link", [0xc000] = "socket",
}


-- luv's table. It takes numbers only, so that whoever reads them out of memory which is used again
-- has read them all before a table is made, which may run a finalizer.
local function luvs_table(dev, mode, nlink, uid, gid, rdev, ino, size, blksize, blocks, flags, gen,
    asec, ansec, msec, mnsec, csec, cnsec, bsec, bnsec)
    return {
        dev = dev, mode = mode, nlink = nlink, uid = uid, gid = gid, rdev = rdev, ino = ino,
        size = size, blksize = blksize, blocks = blocks, flags = flags, gen = gen,
        atime = { sec = asec, nsec = ansec },
        mtime = { sec = msec, nsec = mnsec },
        ctime = { sec = csec, nsec = cnsec },
        birthtime = { sec = bsec, nsec = bnsec },
        type = KIND[band(mode, S_IFMT)],
    }
end


--- The table that luv makes of a uv_stat_t.
-- @param stat a pointer to it
-- @treturn table `dev mode nlink uid gid rdev ino size blksize blocks flags gen`; the times
-- `atime mtime ctime birthtime` as `{sec, nsec}`; `type`, as a word
function _M.stat_table(stat)
    local s = stat_ptr(stat)
    return luvs_table(tonumber(s.dev), tonumber(s.mode), tonumber(s.nlink), tonumber(s.uid),
        tonumber(s.gid), tonumber(s.rdev), tonumber(s.ino), tonumber(s.size), tonumber(s.blksize),
        tonumber(s.blocks), tonumber(s.flags), tonumber(s.gen),
        tonumber(s.atime.sec), tonumber(s.atime.nsec), tonumber(s.mtime.sec),
        tonumber(s.mtime.nsec), tonumber(s.ctime.sec), tonumber(s.ctime.nsec),
        tonumber(s.birthtime.sec), tonumber(s.birthtime.nsec))
end


local statx, file = ffi.new "uvshim_statx", ffi.new "uvshim_file"


--- A file's statistics straight from the kernel.
-- @tparam number fd an open file or folder, or `AT_FDCWD`
-- @tparam string path
-- @tparam number flags of statx(2)
-- @treturn table|nil as `stat_table` makes it; nil without an error: libuv has to be asked
-- @treturn string|nil libuv's error, when there is no such file
-- @treturn string|nil its name
function _M.now(fd, path, flags)
    local status = C.uvshim_stat(fd, path, flags, statx)
    if status == ENOENT then
        return errors.fail(status, path)
    elseif status ~= 0 then
        return nil
    end
    C.uvshim_read_stat(statx, file)
    return luvs_table(file.dev, file.mode, file.nlink, file.uid, file.gid, file.rdev, file.ino,
        file.size, file.blksize, file.blocks, 0, 0,
        file.atime.sec, file.atime.nsec, file.mtime.sec, file.mtime.nsec,
        file.ctime.sec, file.ctime.nsec, file.birthtime.sec, file.birthtime.nsec)
end


--- The statistics in a finished request.
-- @param req the uv_fs_t
-- @treturn table as `stat_table` makes it
function _M.stat_result(req)
    return _M.stat_table(C.uv_fs_get_statbuf(req))
end


--- The file system's statistics in a finished request.
-- @param req the uv_fs_t
-- @treturn table `type bsize blocks bfree bavail files ffree`, from libuv 1.52 on `frsize`
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
        frsize = HAS_FRSIZE and tonumber(statfs.frsize) or nil,
    }
end


return _M

--- luv's functions for files: open, read, write, their statistics.
-- @module moonlap.uv.fs_file
local ffi = require "ffi"
local bit = require "bit"
local buffers = require "moonlap.uv.buffers"
local check = require "moonlap.uv.check"
local constants = require("moonlap.uv.constants").api.constants
local fs_request = require "moonlap.uv.fs_request"
local fs_stat = require "moonlap.uv.fs_stat"
local loop = require("moonlap.uv.queue").loop
local C = require "moonlap.uv.ffi"

local _M = {}
local api = {}
_M.api = api

local define, prepare = fs_request.define, fs_request.prepare
local outcome, done = fs_request.outcome, fs_request.done
local bor = bit.bor

-- All begin with the loop and the request and end with the callback.
ffi.cdef [[
int uv_fs_close(void *, void *, int file, void *);
int uv_fs_open(void *, void *, const char *path, int flags, int mode, void *);
int uv_fs_read(void *, void *, int file, const void *bufs, unsigned int n, int64_t offset, void *);
int uv_fs_write(void *, void *, int file, const void *bufs, unsigned int n, int64_t offset, void *);
int uv_fs_unlink(void *, void *, const char *path, void *);
int uv_fs_stat(void *, void *, const char *path, void *);
int uv_fs_lstat(void *, void *, const char *path, void *);
int uv_fs_fstat(void *, void *, int file, void *);
int uv_fs_statfs(void *, void *, const char *path, void *);
int uv_fs_rename(void *, void *, const char *path, const char *new_path, void *);
int uv_fs_fsync(void *, void *, int file, void *);
int uv_fs_fdatasync(void *, void *, int file, void *);
int uv_fs_ftruncate(void *, void *, int file, int64_t offset, void *);
int uv_fs_sendfile(void *, void *, int out, int in, int64_t offset, size_t length, void *);
]]


--- Closes a file.
-- @function fs_close
-- @tparam number fd
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_close = define("uv_fs_close", { check.int }, { result = done })


-- Modes of fs_open: a letter, then x to fail when the file is there, s to write through.
local OPEN_FLAGS = {}
do
    local c = constants
    local create = { w = bor(c.O_TRUNC, c.O_CREAT), a = bor(c.O_APPEND, c.O_CREAT) }
    for letter, flags in pairs(create) do
        for plus, access in pairs { [""] = c.O_WRONLY, ["+"] = c.O_RDWR } do
            OPEN_FLAGS[letter .. plus] = bor(flags, access)
            OPEN_FLAGS[letter .. "x" .. plus] = bor(flags, access, c.O_EXCL)
            OPEN_FLAGS["x" .. letter .. plus] = bor(flags, access, c.O_EXCL)
        end
    end
    for plus, access in pairs { [""] = c.O_RDONLY, ["+"] = c.O_RDWR } do
        OPEN_FLAGS["r" .. plus] = access
        OPEN_FLAGS["rs" .. plus] = bor(access, c.O_SYNC)
        OPEN_FLAGS["sr" .. plus] = bor(access, c.O_SYNC)
    end
end


local function open_flags(position, ...)
    local flags = select(position, ...)
    local known = OPEN_FLAGS[flags]
    if known then
        return known
    end
    local number = tonumber(flags)
    if number and type(flags) ~= "cdata" then
        return check.int(position, ...)
    elseif type(flags) ~= "string" then
        check.argument_error(position, "Expected string or integer for file open mode")
    end
    return check.misuse("Unknown file open flag '" .. flags .. "'")
end


--- Opens a file.
-- @function fs_open
-- @tparam string path
-- @tparam string|number flags `"r" "r+" "w" "w+" "a" "a+"`, with `s` (write through) or `x` (must
--   be new); or `O_*` added up
-- @tparam number mode a new file's permissions, such as `tonumber("644", 8)`
-- @param[opt] callback `callback(err, fd)`
-- @treturn number a descriptor
api.fs_open = define("uv_fs_open", { check.string, open_flags, check.int }, { result = outcome })


-- The offset may be left out before a callback; -1 reads and writes where the file stands.
local function offset_and_callback(...)
    local third, fourth = select(3, ...)
    if fourth == nil and check.is_callable(third) then
        return -1, third
    end
    return check.opt_number(3, -1, ...), check.opt_callback(4, ...)
end


local one_buf = ffi.typeof "struct { char *base; size_t len; }"

local READ = prepare {
    call = function(req, on_done, file, buffer, length, offset)
        return (C.uv_fs_read(loop, req, file, one_buf(buffer, length), 1, offset, on_done))
    end,
    result = function(req, _, buffer, length)
        local text = ffi.string(buffer, outcome(req))
        buffers.give_back(buffer, length)
        return text
    end,
}


--- Reads from a file.
-- @tparam number fd
-- @tparam number length bytes, at most
-- @tparam[opt=-1] number offset -1: where the file stands
-- @param[opt] callback `callback(err, data)`
-- @treturn string empty at the file's end
function api.fs_read(...)
    local file, length = check.int(1, ...), check.number(2, ...)
    local offset, callback = offset_and_callback(...)
    local buffer = buffers.take(length) or check.misuse("Failure to allocate buffer")
    return READ.run(callback, READ, file, buffer, length, offset)
end


local WRITE = prepare {
    call = fs_request.call("uv_fs_write", 4),
    result = outcome,
}


--- Writes to a file.
-- @tparam number fd
-- @tparam string|table data a string or a list of strings
-- @tparam[opt=-1] number offset -1: where the file stands
-- @param[opt] callback `callback(err, bytes)`
-- @treturn number bytes written
function api.fs_write(...)
    local file = check.int(1, ...)
    local offset, callback = offset_and_callback(...)
    local list, count, strings = buffers.own(2, (select(2, ...)))
    return WRITE.run(callback, WRITE, file, list, count, offset, strings)
end


--- Removes a file.
-- @function fs_unlink
-- @tparam string path
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_unlink = define("uv_fs_unlink", { check.string }, { result = done })


-- Linux's; elsewhere `fs_stat.now` returns nil.
local AT_FDCWD, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH = -100, 0x100, 0x1000


--- A file's statistics, links followed.
-- @function fs_stat
-- @tparam string path
-- @param[opt] callback `callback(err, stat)`
-- @treturn table `dev mode nlink uid gid rdev ino size blksize blocks flags gen`; `atime mtime
--   ctime birthtime`: `{sec, nsec}`; `type`, such as `"file"`
api.fs_stat = define("uv_fs_stat", { check.string }, {
    result = fs_stat.stat_result,
    now = function(path)
        return fs_stat.now(AT_FDCWD, path, 0)
    end,
})


--- The statistics of an open file.
-- @function fs_fstat
-- @tparam number fd
-- @param[opt] callback `callback(err, stat)`
-- @treturn table as `uv.fs_stat` does
api.fs_fstat = define("uv_fs_fstat", { check.int }, {
    result = fs_stat.stat_result,
    now = function(fd)
        return fs_stat.now(fd, "", AT_EMPTY_PATH)
    end,
})


--- A file's statistics; of a link, its own.
-- @function fs_lstat
-- @tparam string path
-- @param[opt] callback `callback(err, stat)`
-- @treturn table as `uv.fs_stat` does
api.fs_lstat = define("uv_fs_lstat", { check.string }, {
    result = fs_stat.stat_result,
    now = function(path)
        return fs_stat.now(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW)
    end,
})


--- The file system that a path is on.
-- @function fs_statfs
-- @tparam string path
-- @param[opt] callback `callback(err, statfs)`
-- @treturn table `type bsize blocks bfree bavail files ffree`, from libuv 1.52 on `frsize`
api.fs_statfs = define("uv_fs_statfs", { check.string }, { result = fs_stat.statfs_result })


--- Renames a file.
-- @function fs_rename
-- @tparam string path
-- @tparam string new_path
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_rename = define("uv_fs_rename", { check.string, check.string },
    { result = done, two_paths = true })


--- Writes a file's data and statistics to the disk.
-- @function fs_fsync
-- @tparam number fd
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_fsync = define("uv_fs_fsync", { check.int }, { result = done })


--- Writes a file's data to the disk.
-- @function fs_fdatasync
-- @tparam number fd
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_fdatasync = define("uv_fs_fdatasync", { check.int }, { result = done })


--- Cuts or extends a file.
-- @function fs_ftruncate
-- @tparam number fd
-- @tparam number size bytes
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_ftruncate = define("uv_fs_ftruncate", { check.int, check.number }, { result = done })


--- Has the kernel copy from one open file to another.
-- @function fs_sendfile
-- @tparam number out_fd
-- @tparam number in_fd
-- @tparam number in_offset from the start of `in_fd`
-- @tparam number size bytes, at most
-- @param[opt] callback `callback(err, bytes)`
-- @treturn number bytes copied
api.fs_sendfile = define("uv_fs_sendfile", { check.int, check.int, check.number, check.number },
    { result = outcome })


return _M

--- luv's functions for what a file may and whose it is: permissions, owners, times.
-- @module moonlap.uv.fs_attributes
local bit = require "bit"
local ffi = require "ffi"
local check = require "moonlap.uv.check"
local fs_request = require "moonlap.uv.fs_request"
local C = require "moonlap.uv.ffi"

local _M = {}
local api = {}
_M.api = api

local define, done = fs_request.define, fs_request.done

-- Ids are int, not uid_t: luv's have been through one, and -1 leaves an owner as it is.
ffi.cdef [[
int uv_fs_access(void *, void *, const char *path, int mode, void *);
int uv_fs_chmod(void *, void *, const char *path, int mode, void *);
int uv_fs_fchmod(void *, void *, int file, int mode, void *);
int uv_fs_utime(void *, void *, const char *path, double atime, double mtime, void *);
int uv_fs_futime(void *, void *, int file, double atime, double mtime, void *);
int uv_fs_lutime(void *, void *, const char *path, double atime, double mtime, void *);
int uv_fs_chown(void *, void *, const char *path, int uid, int gid, void *);
int uv_fs_fchown(void *, void *, int file, int uid, int gid, void *);
int uv_fs_lchown(void *, void *, const char *path, int uid, int gid, void *);
ptrdiff_t uv_fs_get_result(const void *req);
]]


local ACCESS = { r = 4, w = 2, x = 1 }


local function access_mode(position, ...)
    local mode = select(position, ...)
    if type(mode) ~= "string" and type(mode) ~= "number" then
        check.argument_error(position, "Expected string or integer for file access mode check")
    elseif tonumber(mode) then
        return check.int(position, ...)
    end
    local sum = 0
    for letter in mode:gmatch "." do
        local flag = ACCESS[letter:lower()]
            or check.argument_error(position, "Unknown character in access mode string")
        sum = bit.bor(sum, flag)
    end
    return sum
end


--- May this process use a file? One that is not there is no error: false.
-- @function fs_access
-- @tparam string path
-- @tparam string|number mode letters of `"rwx"`, or 4, 2 and 1 added up; 0: is it there?
-- @param[opt] callback `callback(err, permission)`
-- @treturn boolean
api.fs_access = define("uv_fs_access", { check.string, access_mode }, {
    result = function(req)
        return C.uv_fs_get_result(req) >= 0
    end,
    always = true,
})


--- Sets a file's permissions.
-- @function fs_chmod
-- @tparam string path
-- @tparam number mode such as `tonumber("644", 8)`
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_chmod = define("uv_fs_chmod", { check.string, check.int }, { result = done })


--- Sets an open file's permissions.
-- @function fs_fchmod
-- @tparam number fd
-- @tparam number mode such as `tonumber("644", 8)`
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_fchmod = define("uv_fs_fchmod", { check.int, check.int }, { result = done })


-- From 1.51 on libuv has a time that is now, and one that leaves a file's as it is.
local TIMES = C.uv_version() >= 0x013300 and { now = math.huge, omit = 0 / 0 }

local function file_time(position, ...)
    local time = (select(position, ...))
    if not TIMES or type(time) == "number" then
        return check.number(position, ...)
    elseif time == nil then
        return TIMES.omit
    end
    return tonumber(time) or check.option(position, TIMES, ...)
end


--- Sets a file's times, links followed.
-- @function fs_utime
-- @tparam string path
-- @tparam[opt] number|string atime last access, seconds since 1970; from libuv 1.51 on `"now"`, or
--   `"omit"` or nil: as it is
-- @tparam[opt] number|string mtime last change, likewise
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_utime = define("uv_fs_utime", { check.string, file_time, file_time }, { result = done })


--- Sets an open file's times.
-- @function fs_futime
-- @tparam number fd
-- @tparam[opt] number|string atime last access, seconds since 1970; from libuv 1.51 on `"now"`, or
--   `"omit"` or nil: as it is
-- @tparam[opt] number|string mtime last change, likewise
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_futime = define("uv_fs_futime", { check.int, file_time, file_time }, { result = done })


--- Sets a link's own times.
-- @function fs_lutime
-- @tparam string path
-- @tparam[opt] number|string atime last access, seconds since 1970; from libuv 1.51 on `"now"`, or
--   `"omit"` or nil: as it is
-- @tparam[opt] number|string mtime last change, likewise
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_lutime = define("uv_fs_lutime", { check.string, file_time, file_time }, { result = done })


--- Gives a file to an owner, links followed.
-- @function fs_chown
-- @tparam string path
-- @tparam number uid -1: as it is
-- @tparam number gid -1: as it is
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_chown = define("uv_fs_chown", { check.string, check.int, check.int }, { result = done })


--- Gives an open file to an owner.
-- @function fs_fchown
-- @tparam number fd
-- @tparam number uid -1: as it is
-- @tparam number gid -1: as it is
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_fchown = define("uv_fs_fchown", { check.int, check.int, check.int }, { result = done })


--- Gives a link itself to an owner.
-- @function fs_lchown
-- @tparam string path
-- @tparam number uid -1: as it is
-- @tparam number gid -1: as it is
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_lchown = define("uv_fs_lchown", { check.string, check.int, check.int }, { result = done })


return _M

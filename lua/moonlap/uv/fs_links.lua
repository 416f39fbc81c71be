--- luv's functions that tie names to files: links, the path behind a name, copies.
-- @module moonlap.uv.fs_links
local bit = require "bit"
local ffi = require "ffi"
local check = require "moonlap.uv.check"
local fs_request = require "moonlap.uv.fs_request"
local C = require "moonlap.uv.ffi"

local _M = {}
local api = {}
_M.api = api

local define, prepare, done = fs_request.define, fs_request.prepare, fs_request.done

ffi.cdef [[
int uv_fs_link(void *, void *, const char *path, const char *new_path, void *);
int uv_fs_symlink(void *, void *, const char *path, const char *new_path, int flags, void *);
int uv_fs_readlink(void *, void *, const char *path, void *);
int uv_fs_realpath(void *, void *, const char *path, void *);
int uv_fs_copyfile(void *, void *, const char *path, const char *new_path, int flags, void *);
void *uv_fs_get_ptr(const void *req);
]]


local function text_result(req)
    return (ffi.string(ffi.cast("const char *", C.uv_fs_get_ptr(req))))
end


--- Gives a file a second name.
-- @function fs_link
-- @tparam string path
-- @tparam string new_path
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_link = define("uv_fs_link", { check.string, check.string },
    { result = done, two_paths = true })


-- Flags as a number or as a table of names, then the callback; or the callback in their place.
local function flags_and_callback(bits, ...)
    local flags = select(3, ...)
    if select("#", ...) == 3 and check.is_callable(flags) then
        return 0, flags
    end
    local sum = 0
    if type(flags) == "table" then
        for name, value in pairs(bits) do
            sum = flags[name] and bit.bor(sum, value) or sum
        end
    elseif type(flags) == "number" then
        sum = check.int(3, ...)
    elseif flags ~= nil then
        check.own_type_error(3, "table, integer, or nil", ...)
    end
    return sum, check.opt_callback(4, ...)
end


local SYMLINK = prepare {
    call = fs_request.call("uv_fs_symlink", 3),
    result = done,
    two_paths = true,
}


--- Makes a symbolic link.
-- @tparam string path what it points to
-- @tparam string new_path where it is
-- @tparam[opt] table|number flags `{dir, junction}`, of use on Windows alone
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
function api.fs_symlink(...)
    local path, new_path = check.string(1, ...), check.string(2, ...)
    local flags, callback = flags_and_callback({ dir = 1, junction = 2 }, ...)
    return SYMLINK.run(callback, SYMLINK, path, new_path, flags)
end


local COPYFILE = prepare {
    call = fs_request.call("uv_fs_copyfile", 3),
    result = done,
    two_paths = true,
}


--- Copies a file.
-- @tparam string path
-- @tparam string new_path
-- @tparam[opt] table|number flags `excl`: the copy must be new; `ficlone`: share the data if
--   possible; `ficlone_force`: or fail
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
function api.fs_copyfile(...)
    local path, new_path = check.string(1, ...), check.string(2, ...)
    local flags, callback =
        flags_and_callback({ excl = 1, ficlone = 2, ficlone_force = 4 }, ...)
    return COPYFILE.run(callback, COPYFILE, path, new_path, flags)
end


--- Where a symbolic link points.
-- @function fs_readlink
-- @tparam string path
-- @param[opt] callback `callback(err, path)`
-- @treturn string
api.fs_readlink = define("uv_fs_readlink", { check.string }, { result = text_result })


--- The path of a file from the root, without links.
-- @function fs_realpath
-- @tparam string path
-- @param[opt] callback `callback(err, path)`
-- @treturn string
api.fs_realpath = define("uv_fs_realpath", { check.string }, { result = text_result })


return _M

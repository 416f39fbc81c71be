--- luv's functions for folders: making and removing them, reading them whole or in pieces.
-- @module moonlap.uv.fs_dir
local ffi = require "ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local fs_request = require "moonlap.uv.fs_request"
local loop = require("moonlap.uv.queue").loop
local message = require "moonlap.uv.message"
local requests = require "moonlap.uv.req"
local C = require "moonlap.uv.ffi"

local _M = {}
local api = {}
_M.api = api

local define, prepare = fs_request.define, fs_request.prepare
local outcome, done = fs_request.outcome, fs_request.done

ffi.cdef [[
int uv_fs_mkdir(void *, void *, const char *path, int mode, void *);
int uv_fs_rmdir(void *, void *, const char *path, void *);
int uv_fs_mkdtemp(void *, void *, const char *template, void *);
int uv_fs_mkstemp(void *, void *, const char *template, void *);
int uv_fs_scandir(void *, void *, const char *path, int flags, void *);
int uv_fs_scandir_next(void *, void *dirent);
int uv_fs_opendir(void *, void *, const char *path, void *);
int uv_fs_readdir(void *, void *, void *dir, void *);
int uv_fs_closedir(void *, void *, void *dir, void *);
void *uv_fs_get_ptr(const void *req);
]]

local dirent_t = ffi.typeof "struct { const char *name; int type; }"
local dirents_t = ffi.typeof("$[?]", dirent_t)
local dir_ptr = ffi.typeof "struct { void *dirents; size_t nentries; void *reserved[4]; } *"

local MOST_ENTRIES = 0xffffff

-- uv_dirent_type_t; what libuv does not know has no word.
local KIND = { "file", "directory", "link", "fifo", "socket", "char", "block" }


--- Makes a folder.
-- @function fs_mkdir
-- @tparam string path
-- @tparam number mode such as `tonumber("755", 8)`
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_mkdir = define("uv_fs_mkdir", { check.string, check.int }, { result = done })


--- Removes an empty folder.
-- @function fs_rmdir
-- @tparam string path
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
api.fs_rmdir = define("uv_fs_rmdir", { check.string }, { result = done })


--- Makes a temporary folder.
-- @function fs_mkdtemp
-- @tparam string template ends in `XXXXXX`
-- @param[opt] callback `callback(err, path)`
-- @treturn string its path
api.fs_mkdtemp = define("uv_fs_mkdtemp", { check.string }, {
    result = function(req)
        return (ffi.string(C.uv_fs_get_path(req)))
    end,
})


--- Opens a new temporary file.
-- @function fs_mkstemp
-- @tparam string template ends in `XXXXXX`
-- @param[opt] callback `callback(err, fd, path)`
-- @treturn number a descriptor
-- @treturn string its path
api.fs_mkstemp = define("uv_fs_mkstemp", { check.string }, {
    result = function(req)
        return outcome(req), ffi.string(C.uv_fs_get_path(req))
    end,
})


-- A folder's entries, by the request that users hold. They are taken out of libuv's memory at
-- once, so that nothing waits for the garbage collector; `{name, type, …, next = index}`.
local listings = setmetatable({}, { __mode = "k" })


local function read_entries(req)
    local entries, count, entry = { next = 1 }, 0, dirent_t()
    while C.uv_fs_scandir_next(req, entry) >= 0 do
        entries[count + 1] = ffi.string(entry.name)
        entries[count + 2] = KIND[entry.type] or false
        count = count + 2
    end
    return entries
end


local SCANDIR = prepare {
    call = function(req, on_done, path)
        return (C.uv_fs_scandir(loop, req, path, 0, on_done))
    end,
    result = read_entries,
}


local function new_listing(entries)
    local listing = requests.complete "fs"
    listings[listing] = entries
    return listing
end


-- A listing may go to another Lua state, as from work that reads a folder: what is left of it.
message.kinds.L = {
    to = function(userdata)
        return listings[userdata] and 0
    end,
    text = function(userdata)
        local entries, pieces = listings[userdata], {}
        for i = entries.next, #entries do
            pieces[#pieces + 1] = (entries[i] or "") .. "\0" -- no name has a zero byte
        end
        return table.concat(pieces)
    end,
    from = function(text)
        local entries, n = { next = 1 }, 0
        for piece in text:gmatch "(%Z*)%z" do
            n = n + 1
            entries[n] = piece ~= "" and piece
        end
        return new_listing(entries)
    end,
}


--- Reads a folder. Work may return this, and pass it on.
-- @tparam string path
-- @param[opt] callback `callback(err, listing)`
-- @treturn userdata the listing, for `fs_scandir_next`
function api.fs_scandir(...)
    local path, callback = check.string(1, ...), check.opt_callback(2, ...)
    if not callback then
        local entries, text, name = SCANDIR.run(nil, SCANDIR, path)
        if not entries then
            return nil, text, name
        end
        return new_listing(entries)
    end

    -- The callback gets the very request that is returned here.
    local listing, text, name
    listing, text, name = SCANDIR.run(function(err, entries)
        if err then
            return callback(err)
        end
        listings[listing] = entries
        return callback(nil, listing)
    end, SCANDIR, path)
    return listing, text, name
end


--- The next entry.
-- @tparam userdata listing of `fs_scandir`
-- @treturn string|nil name; nothing behind the last
-- @treturn string|nil type, such as `"directory"`; nil when not known
function api.fs_scandir_next(...)
    local listing = (...)
    local entries = listings[listing]
    if not entries then
        if not requests.is(listing) then
            check.type_error(1, "uv_req", ...)
        end
        check.argument_error(1, "Expected uv_fs_t")
    end
    local i = entries.next
    local name, kind = entries[i], entries[i + 1]
    if not name then
        return
    end
    entries.next = i + 2
    if not kind then
        return name
    end
    return name, kind
end


-- Open folders. What users hold is a userdata, as in luv; its record is found here:
-- `handle` is libuv's pointer, false when closed; `busy` while a thread reads it.
local folders = setmetatable({}, { __mode = "k" })
local template = newproxy(true)
local meta = getmetatable(template)


local function check_dir(position, ...)
    return folders[(select(position, ...))] or check.type_error(position, "uv_dir", ...)
end


-- A folder that was forgotten is closed by the collector. A userdata's finalizer, because those
-- run while the library is still loaded when the state ends. At that end a thread may be reading
-- the folder; it then stays open.
meta.__gc = function(userdata)
    local folder = folders[userdata]
    if folder and folder.handle and not folder.busy then
        local req = ffi.new("uint64_t[?]", fs_request.WORDS)
        C.uv_fs_closedir(nil, req, folder.handle, nil)
        C.uv_fs_req_cleanup(req)
    end
end


local OPENDIR = prepare {
    call = fs_request.call("uv_fs_opendir", 1),
    result = function(req, _, nentries)
        local handle = ffi.cast(dir_ptr, C.uv_fs_get_ptr(req))
        local dirents = dirents_t(nentries)
        handle.dirents, handle.nentries = dirents, nentries
        local folder = newproxy(template)
        folders[folder] = { handle = handle, dirents = dirents, busy = false }
        return folder
    end,
}


--- Opens a folder, to read it in pieces.
-- @function fs_opendir
-- @tparam string path
-- @param[opt] callback `callback(err, dir)`
-- @tparam[opt=1] number entries at most, for `fs_readdir`
-- @treturn userdata the open folder, with methods `readdir` and `closedir`
function api.fs_opendir(...)
    local path, callback = check.string(1, ...), check.opt_callback(2, ...)
    local entries = check.opt_number(3, 1, ...)
    if entries < 0 or entries > MOST_ENTRIES then
        check.argument_error(3, "number of entries out of range")
    end
    return OPENDIR.run(callback, OPENDIR, path, entries)
end


-- What libuv may not be asked of a folder: anything once it is closed, and anything while a
-- thread is at it.
local function start(folder, callback, how)
    if not folder.handle or folder.busy then
        local errno = errors.api.errno
        return errors.fail(folder.handle and errno.EBUSY or errno.EBADF)
    end
    if not callback then
        return how.run(nil, how, folder)
    end
    folder.busy = true
    local request, text, name = how.run(function(...)
        folder.busy = false
        return callback(...)
    end, how, folder)
    if not request then
        folder.busy = false
    end
    return request, text, name
end


local READDIR = prepare {
    call = function(req, on_done, folder)
        return (C.uv_fs_readdir(loop, req, folder.handle, on_done))
    end,
    result = function(req, folder)
        local count = outcome(req)
        if count == 0 then
            return nil
        end
        local entries = {}
        for i = 1, count do
            local entry = folder.dirents[i - 1]
            entries[i] = { name = ffi.string(entry.name), type = KIND[entry.type] }
        end
        return entries
    end,
}


--- The next entries of an open folder.
-- @tparam userdata dir of `fs_opendir`
-- @param[opt] callback `callback(err, entries)`
-- @treturn table|nil a list of `{name, type}`; nil behind the last
function api.fs_readdir(...)
    local folder = check_dir(1, ...)
    return start(folder, check.opt_callback(2, ...), READDIR)
end


local CLOSEDIR = prepare {
    call = function(req, on_done, folder)
        local handle = folder.handle
        folder.handle = false
        return (C.uv_fs_closedir(loop, req, handle, on_done))
    end,
    result = done,
}


--- Closes an open folder.
-- @tparam userdata dir of `fs_opendir`
-- @param[opt] callback `callback(err, success)`
-- @treturn boolean true
function api.fs_closedir(...)
    local folder = check_dir(1, ...)
    return start(folder, check.opt_callback(2, ...), CLOSEDIR)
end


meta.__index = { readdir = api.fs_readdir, closedir = api.fs_closedir }
meta.__tostring = function(folder)
    return ("uv_dir_t: %p"):format(folder)
end


return _M

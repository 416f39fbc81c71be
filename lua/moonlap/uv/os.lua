--- luv's functions that ask or change this process's surroundings: ids, environment, folders.
-- @module moonlap.uv.os
local ffi = require "ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local out = require "moonlap.uv.out"
local C = require "moonlap.uv.ffi"

local _M = {}
local api = {}
_M.api = api

-- Ids are int, not uid_t: luv's have been through one.
ffi.cdef [[
int moonlap_uv_getuid(void) __asm__("getuid");
int moonlap_uv_getgid(void) __asm__("getgid");
int moonlap_uv_setuid(int uid) __asm__("setuid");
int moonlap_uv_setgid(int gid) __asm__("setgid");
int uv_os_getpid(void);
int uv_os_getppid(void);
int uv_os_getpriority(int pid, int *priority);
int uv_os_setpriority(int pid, int priority);
int uv_get_process_title(char *buffer, size_t size);
int uv_set_process_title(const char *title);
int uv_exepath(char *buffer, size_t *size);
int uv_cwd(char *buffer, size_t *size);
int uv_chdir(const char *dir);
int uv_os_tmpdir(char *buffer, size_t *size);
int uv_os_homedir(char *buffer, size_t *size);
int uv_os_gethostname(char *buffer, size_t *size);
int uv_os_getenv(const char *name, char *buffer, size_t *size);
int uv_os_setenv(const char *name, const char *value);
int uv_os_unsetenv(const char *name);
int uv_os_environ(void *items, int *count);
void uv_os_free_environ(void *items, int count);
int uv_os_get_passwd(void *passwd);
void uv_os_free_passwd(void *passwd);
int uv_os_uname(void *name);
]]

local passwd_t = ffi.typeof [[struct {
    char *username;
    long uid, gid;
    char *shell, *homedir;
    void *reserved[8];
}]] -- libuv 1.45 put a field at the end
local uname_t = ffi.typeof "struct { char sysname[256], release[256], version[256], machine[256]; }"
local env_item_ptr = ffi.typeof "struct { char *name, *value; } *"

local PATH_SIZE = out.PATH_SIZE
local ENV_SIZE, MOST_ENV_SIZE = 8192, 2^30
local TITLE_SIZE = 8192


-- luv's answer of those functions that say true.
local function done(code)
    if code < 0 then
        return errors.fail(code)
    end
    return true
end


--- This process's id.
-- @treturn number
function api.getpid()
    return (C.uv_os_getpid())
end

--- The same as `uv.getpid`.
-- @function os_getpid
-- @treturn number
api.os_getpid = api.getpid


--- The parent process's id.
-- @treturn number
function api.os_getppid()
    return (C.uv_os_getppid())
end


--- The real user id.
-- @treturn number
function api.getuid()
    return (ffi.C.moonlap_uv_getuid())
end


--- The real group id.
-- @treturn number
function api.getgid()
    return (ffi.C.moonlap_uv_getgid())
end


--- Changes the user id; raises an error when the system refuses.
-- @tparam number uid
function api.setuid(...)
    if ffi.C.moonlap_uv_setuid(check.int(1, ...)) == -1 then
        check.misuse("Error setting UID")
    end
end


--- Changes the group id; raises an error when the system refuses.
-- @tparam number gid
function api.setgid(...)
    if ffi.C.moonlap_uv_setgid(check.int(1, ...)) == -1 then
        check.misuse("Error setting GID")
    end
end


--- A process's priority.
-- @tparam number pid 0 for this one
-- @treturn number from -20, first served, to 19
function api.os_getpriority(...)
    local priority = ffi.new("int[1]")
    local code = C.uv_os_getpriority(check.int(1, ...), priority)
    if code < 0 then
        return errors.fail(code)
    end
    return priority[0]
end


--- Sets a process's priority.
-- @tparam number pid 0 for this one
-- @tparam number priority from -20, first served, to 19
-- @treturn boolean true
function api.os_setpriority(...)
    return done(C.uv_os_setpriority(check.int(1, ...), check.int(2, ...)))
end


--- The title of this process.
-- @treturn string
function api.get_process_title()
    local buffer = ffi.new("char[?]", TITLE_SIZE)
    local code = C.uv_get_process_title(buffer, TITLE_SIZE)
    if code < 0 then
        return errors.fail(code)
    end
    return (ffi.string(buffer))
end


--- Sets the title of this process, as ps shows it.
-- @tparam string title
-- @treturn number 0
function api.set_process_title(...)
    return errors.result(C.uv_set_process_title(check.string(1, ...)))
end


--- The path of this program's file.
-- @treturn string
function api.exepath()
    return out.text(C.uv_exepath, PATH_SIZE)
end


--- The current folder.
-- @treturn string
function api.cwd()
    return out.text(C.uv_cwd, PATH_SIZE)
end


--- Changes the current folder.
-- @tparam string path
-- @treturn number 0
function api.chdir(...)
    return errors.result(C.uv_chdir(check.string(1, ...)))
end


--- `TMPDIR` and its like, else `/tmp`.
-- @treturn string
function api.os_tmpdir()
    return out.text(C.uv_os_tmpdir, PATH_SIZE)
end


--- `HOME`, else from the list of users.
-- @treturn string
function api.os_homedir()
    return out.text(C.uv_os_homedir, PATH_SIZE)
end


--- The machine's name.
-- @treturn string
function api.os_gethostname()
    return out.text(C.uv_os_gethostname, 256)
end


--- This process's user.
-- @treturn table `{username, uid, gid, shell, homedir}`
function api.os_get_passwd()
    local passwd = passwd_t()
    local code = C.uv_os_get_passwd(passwd)
    if code < 0 then
        return errors.fail(code)
    end
    local user = { uid = tonumber(passwd.uid), gid = tonumber(passwd.gid) }
    for _, name in ipairs { "username", "shell", "homedir" } do
        user[name] = passwd[name] ~= nil and ffi.string(passwd[name]) or nil
    end
    C.uv_os_free_passwd(passwd)
    return user
end


--- An environment variable.
-- @tparam string name
-- @tparam[opt=8192] number size bytes that are tried first
-- @treturn string
function api.os_getenv(...)
    local name, size = check.string(1, ...), check.opt_number(2, ENV_SIZE, ...)
    if not (size >= 1 and size <= MOST_ENV_SIZE) then
        return errors.fail(errors.api.errno.EINVAL)
    end
    return out.text_of(C.uv_os_getenv, name, size, true)
end


--- Sets an environment variable.
-- @tparam string name
-- @tparam string value
-- @treturn boolean true
function api.os_setenv(...)
    return done(C.uv_os_setenv(check.string(1, ...), check.string(2, ...)))
end


--- Removes an environment variable.
-- @tparam string name
-- @treturn boolean true
function api.os_unsetenv(...)
    return done(C.uv_os_unsetenv(check.string(1, ...)))
end


local function add_variable(environ, item)
    environ[ffi.string(item.name)] = ffi.string(item.value)
end


--- The whole environment.
-- @treturn table values by name
function api.os_environ()
    return out.list(C.uv_os_environ, C.uv_os_free_environ, env_item_ptr, add_variable)
end


--- The system's name.
-- @treturn table `{sysname, release, version, machine}`
function api.os_uname()
    local name = uname_t()
    local code = C.uv_os_uname(name)
    if code < 0 then
        return errors.fail(code)
    end
    local result = {}
    for _, field in ipairs { "sysname", "release", "version", "machine" } do
        result[field] = ffi.string(name[field])
    end
    return result
end


return _M

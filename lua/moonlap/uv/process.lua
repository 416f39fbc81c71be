--- Child processes, and signals to send.
-- @module moonlap.uv.process

local ffi = require "ffi"
local bit = require "bit"
local barrier = require "moonlap.uv.barrier"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local closing = require "moonlap.uv.closing"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local queue = require "moonlap.uv.queue"
local words = require "moonlap.uv.words"

local _M = {}

-- A second copy of this module in one Lua state finds the types declared already.
if not pcall(ffi.typeof, "moonlap_uv_process_options") then
    ffi.cdef [[
    typedef struct { int flags; union { uv_stream_t *stream; int fd; }; } moonlap_uv_stdio;
    typedef struct {
        uv_exit_cb exit_cb;
        const char *file;
        const char **args, **env;
        const char *cwd;
        unsigned int flags;
        int stdio_count;
        moonlap_uv_stdio *stdio;
        unsigned int uid, gid;
    } moonlap_uv_process_options;
    ]]
end
ffi.cdef [[
int uvshim_spawn(uvshim_queue *, void *, const moonlap_uv_process_options *, int32_t *pid);
int uv_kill(int pid, int signum);
void uv_disable_stdio_inheritance(void);
int uv_fileno(const uv_handle_t *, int *);
]]

local NOTHING = {}
local IS_TEXT = { string = true, number = true }

-- uv_process_flags
local IDS = { uid = 0x1, gid = 0x2 }
local FLAGS = {
    verbatim = 0x4, detached = 0x8, hide = 0x10, hide_console = 0x20, hide_gui = 0x40,
}

-- uv_stdio_flags
local IGNORE, CREATE_PIPE, INHERIT_FD, INHERIT_STREAM = 0x0, 0x1, 0x2, 0x4
local READABLE_PIPE, WRITABLE_PIPE = 0x10, 0x20

local errno = errors.api.errno
local stream_ptr = ffi.typeof "uv_stream_t *"
local options_t = ffi.typeof "moonlap_uv_process_options"
local strings_t = ffi.typeof "const char *[?]"
local stdio_t = ffi.typeof "moonlap_uv_stdio[?]"
local on_exit = queue.callback "exit"
local pid_box = ffi.new "int32_t[1]"

local methods = {}
local class = handle.class("process", methods)

queue.on[queue.KIND.exit] = function(id, result, extra)
    local h = handle.by_id[id]
    h.has_exited = true
    if not h.closing then
        return h.callback, result, extra
    end
end

-- A list of strings for C, which ends at the first value that is none, as luv's does. What the list
-- itself does not keep is put into `keep`.
local function strings(first, list, keep)
    local n = 0
    while IS_TEXT[type(rawget(list, n + 1))] do
        n = n + 1
    end
    local before = first and 1 or 0
    local result = strings_t(before + n + 1)
    keep[#keep + 1] = result
    if first then
        result[0] = first
    end
    for i = 1, n do
        local text = list[i]
        if type(text) == "number" then
            text = tostring(text)
            keep[#keep + 1] = text
        end
        result[before + i - 1] = text
    end
    return result
end

-- luv refuses an environment, but no arguments, that would end at a wrong value.
local function check_env(list)
    for i = 1, #list do
        if not IS_TEXT[type(list[i])] then
            check.argument_error(2, "env table entries must be strings")
        end
    end
end

-- How many descriptors a table stands for that may have holes.
local function highest(list)
    local n = 0
    for key in pairs(list) do
        if type(key) ~= "number" or key < 1 then
            return #list
        end
        n = math.max(n, math.floor(key))
    end
    return n
end

-- A stream that is not open gets a pipe to the child, an open one is handed down.
local function share_stream(entry, i, userdata, position)
    local h = handle.check_stream(userdata, position)
    if h.closing then
        check.argument_error(2, ("stdio entry %d is a closed stream"):format(i + 1))
    end
    local ptr = handle.pointer(h)
    local status = C.uv_fileno(ptr, ffi.new "int[1]")
    if status == errno.EINVAL or status == errno.EBADF then
        -- The child reads from 0, writes to 1 and 2, and does both with others.
        entry.flags = bit.bor(CREATE_PIPE, (i == 0 or i > 2) and READABLE_PIPE or 0,
            i ~= 0 and WRITABLE_PIPE or 0)
    else
        entry.flags = INHERIT_STREAM
    end
    entry.stream = ffi.cast(stream_ptr, ptr)
end

local function read_stdio(stdio, position)
    local count = highest(stdio)
    local result = stdio_t(count)
    for i = 0, count - 1 do
        local entry, value = result[i], stdio[i + 1]
        if type(value) == "number" then
            entry.flags, entry.fd = INHERIT_FD, bit.tobit(value)
        elseif type(value) == "userdata" then
            share_stream(entry, i, value, position)
        elseif value == nil then
            entry.flags = IGNORE
        else
            check.argument_error(2, "stdio table entries must be nil, uv_stream_t, or integer")
        end
    end
    return result, count
end

-- An option of luv's, or nil.
local function option(options, name, kind, position)
    local value = options[name]
    if value == nil or type(value) == kind
        or (kind == "string" and type(value) == "number") then
        return value
    end
    return check.argument_error(position, ("%s option must be %s"):format(name, kind))
end

-- uv_process_options_t; what it points to stands in `keep`. luv counts the entries of `stdio` as
-- the argument two behind the last.
local function read_options(file, options, keep, arguments)
    local c = options_t()
    c.exit_cb, c.file = on_exit, file
    c.args = strings(file, option(options, "args", "table", 3) or NOTHING, keep)
    local stdio = option(options, "stdio", "table", 2)
    if stdio then
        local list, count = read_stdio(stdio, arguments + 2)
        c.stdio, c.stdio_count, keep[#keep + 1] = list, count, list
    end
    local env = option(options, "env", "table", 2)
    if env then
        check_env(env)
        c.env = strings(nil, env, keep)
    end
    local cwd = options.cwd
    if type(cwd) == "string" then
        c.cwd = cwd
    elseif cwd ~= nil then
        check.argument_error(2, "cwd option must be string")
    end
    local flags = 0
    for name, flag in pairs(IDS) do
        local id = option(options, name, "number", 2)
        if id then
            c[name], flags = bit.tobit(id), bit.bor(flags, flag)
        end
    end
    for name, flag in pairs(FLAGS) do
        flags = options[name] and bit.bor(flags, flag) or flags
    end
    c.flags = flags
    return c
end

local new_record = handle.c_record_maker "has_exited = false, pid = 0"

local api = {}
_M.api = api

--- Starts a program.
-- @function spawn
-- @tparam string file a path, or a name in `PATH`
-- @tparam table options `args`: list of strings; `stdio`: from descriptor 0 on, each a descriptor,
--   a stream (one that is not open gets a pipe to the child) or nil (`/dev/null`); `env`: list of
--   `"NAME=value"`; `cwd`; `uid`; `gid`; `detached`;
--   Windows' `verbatim`, `hide`, `hide_console`, `hide_gui`
-- @tparam[opt] function callback the exit status, and the number of the signal that ended it or 0
-- @treturn userdata the process, to be closed; or nil, message and name of the error
-- @treturn number its id
local function spawn(...)
    local file, options = check.string(1, ...), check.table(2, ...)
    local keep = {} -- so that nothing of it is collected before the child is made
    local c = read_options(file, options, keep, select("#", ...))
    local callback = check.opt_callback(3, ...)

    local h = new_record()
    h.callback = callback or false
    local userdata = handle.new(class, h)
    local memory = handle.memory(h)
    local status = C.uvshim_spawn(queue.q, memory, c, pid_box)
    keep[1] = nil
    if status < 0 then
        closing.close(h, false)
        return errors.fail(status)
    end
    h.pid = pid_box[0]
    return userdata, h.pid
end

for _, fn in ipairs { strings, highest, share_stream, read_stdio, option, read_options, spawn } do
    jit.off(fn)
end
api.spawn = barrier.of(spawn)

--- Sends a signal to a child.
-- @tparam userdata process
-- @tparam[opt="sigterm"] number|string signum
-- @treturn number 0; or nil, message and name of the error: `ESRCH` after its end
function api.process_kill(userdata, signum)
    local h = handle.check(userdata, class)
    if h.has_exited then -- its id may be another's
        return errors.fail(errno.ESRCH)
    end
    return errors.result(C.uv_kill(h.pid, words.signal(2, userdata, signum)))
end

--- A child's id.
-- @tparam userdata process
-- @treturn number
function api.process_get_pid(userdata)
    return handle.check(userdata, class).pid
end

--- Sends a signal to any process.
-- @tparam number pid
-- @tparam[opt="sigterm"] number|string signum 0 asks whether there is such a process
-- @treturn number 0, or nil, message and name of the error
function api.kill(...)
    return errors.result(C.uv_kill(check.int(1, ...), words.signal(2, ...)))
end

--- Keeps children from inheriting what this process has inherited.
function api.disable_stdio_inheritance()
    C.uv_disable_stdio_inheritance()
end

methods.kill, methods.get_pid = api.process_kill, api.process_get_pid

return _M

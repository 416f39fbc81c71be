--- Calls into luv's API whose answers must be the same under luv and under moonlap.uv:
-- `luajit uv_cases.lua MODULE FOLDER` prints one line a call, with everything it returned or
-- the error it raised. FOLDER must be empty; it is the working folder.
local uv = require(arg[1])
assert(uv.chdir(arg[2]))

local NONE = {}

-- A value as text, the same in each process: addresses and the folder's name are left out.
local function show(value, depth)
    if type(value) == "table" then
        local keys, parts = {}, {}
        for key in pairs(value) do
            keys[#keys + 1] = key
        end
        table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
        for _, key in ipairs(keys) do
            parts[#parts + 1] = tostring(key) .. "=" .. show(value[key], (depth or 0) + 1)
        end
        return "{" .. table.concat(parts, ", ") .. "}"
    end
    return (tostring(value):gsub("0x%x+", "0x"):gsub("\n", "\\n"))
end

local function report(name, ok, ...)
    local words = { name, ok and "=" or "!" }
    for i = 1, select("#", ...) do
        words[#words + 1] = type((select(i, ...))) .. ":" .. show((select(i, ...)))
    end
    print(table.concat(words, " "))
end

-- The call is written out, because error texts name the function as the call does.
local function try(name, ...)
    local count, args = select("#", ...), { ... }
    if type(uv[name]) ~= "function" then
        return report(name, false, "is no function")
    end
    local call = loadstring("local uv = (...) local result = { uv." .. name
        .. "(select(2, ...)) } return result", "=call")
    report(name .. "/" .. count, pcall(function()
        local results = call(uv, unpack(args, 1, count))
        return unpack(results, 1, table.maxn(results))
    end))
end

local function types(name, ...)
    local results, shapes = { uv[name](...) }, {}
    for i, value in ipairs(results) do
        local shape = type(value)
        if shape == "table" then
            local keys = {}
            for key, field in pairs(type(value[1]) == "table" and value[1] or value) do
                keys[#keys + 1] = tostring(key) .. ":" .. type(field)
            end
            table.sort(keys)
            shape = "{" .. table.concat(keys, " ") .. "}"
        end
        shapes[i] = shape
    end
    print(name .. " types " .. table.concat(shapes, " "))
end

-- Everything with nothing, with nil, with the wrong thing, and with what can't be.
local FUNCTIONS = {
    "fs_close", "fs_open", "fs_read", "fs_unlink", "fs_write", "fs_mkdir", "fs_mkdtemp",
    "fs_mkstemp", "fs_rmdir", "fs_scandir", "fs_stat", "fs_fstat", "fs_lstat",
    "fs_rename", "fs_fsync", "fs_fdatasync", "fs_ftruncate", "fs_sendfile", "fs_access",
    "fs_chmod", "fs_fchmod", "fs_utime", "fs_futime", "fs_lutime", "fs_link", "fs_symlink",
    "fs_readlink", "fs_realpath", "fs_chown", "fs_fchown", "fs_lchown", "fs_copyfile",
    "fs_opendir", "fs_statfs",
}
local function callback(...)
    report("callback", true, ...)
end
for _, name in ipairs(FUNCTIONS) do
    try(name)
    try(name, nil)
    try(name, {})
    try(name, "nowhere/x")
    try(name, "nowhere/x", nil)
    try(name, "nowhere/x", true)
    try(name, "nowhere/x", 1, false, 3)
    if name ~= "fs_write" then -- of data that is missing luv says "got userdata"
        try(name, 12345)
    end
    try(name, 12345, "nowhere/y")
    try(name, 12345, 1, 1, 1)
    try(name, 12345, 1, callback, callback, callback, 7)
    uv.run()
    try(name, 1e6, 1, 1, 1, "callback")
    try(name, "nowhere/x", "nowhere/y", 3, "z")
    try(name, "nowhere/x", 1, 2)
end

-- Everything with a callback.
for _, name in ipairs(FUNCTIONS) do
    for count = 1, 4 do
        local args = { "nowhere/x", "nowhere/y", "nowhere/z", [count + 1] = callback }
        try(name, unpack(args, 1, count + 1))
        uv.run()
        args = { 12345, 1, 1, [count + 1] = callback }
        try(name, unpack(args, 1, count + 1))
        uv.run()
    end
end

-- A method's errors count arguments from the object on.
report("method", pcall(function() uv.fs_opendir("."):readdir(1) end))
report("method self", pcall(function()
    local dir = uv.fs_opendir(".")
    dir.readdir()
end))
report("local name", pcall(function()
    local stat = uv.fs_stat
    stat()
end))
for _, name in ipairs { "fs_scandir_next", "fs_readdir", "fs_closedir" } do
    try(name)
    try(name, 1)
    try(name, {})
end

-- A file's life.
try("fs_mkdir", "dir", tonumber("755", 8))
try("fs_mkdir", "dir", tonumber("755", 8))
local fd = uv.fs_open("dir/file", "w+", tonumber("644", 8))
try("fs_write", fd, "hello")
try("fs_write", fd, { " wor", 1, "d" })
try("fs_write", fd, 42, -1)
try("fs_write", fd, "H", 0)
try("fs_write", fd, { "a", {} })
try("fs_write", fd, true)
try("fs_read", fd, 100)
try("fs_read", fd, 100, 0)
try("fs_read", fd, 3, 1)
try("fs_read", fd, 0, 0)
try("fs_read", fd, "4", "2")
try("fs_read", fd, -1)
try("fs_ftruncate", fd, 4)
try("fs_futime", fd, 1000.5, 2000.25)
try("fs_fchmod", fd, tonumber("600", 8))
try("fs_fsync", fd)
try("fs_fdatasync", fd)
try("fs_fchown", fd, -1, -1)
local stat = uv.fs_fstat(fd)
stat.ino, stat.dev, stat.ctime, stat.birthtime = nil, nil, nil, nil
report("fs_fstat", true, stat)
try("fs_close", fd)
try("fs_close", fd)
try("fs_utime", "dir/file", 3000, 4000)
try("fs_lutime", "dir/file", 3000, "5000")
try("fs_chmod", "dir/file", tonumber("640", 8))
try("fs_chown", "dir/file", -1, -1)
try("fs_lchown", "dir/file", -1, -1)
try("fs_link", "dir/file", "dir/second")
try("fs_link", "dir/file", "dir/second")
try("fs_symlink", "file", "dir/link")
try("fs_symlink", "file", "dir/link", { dir = true })
try("fs_symlink", "file", "dir/link", "flags")
try("fs_symlink", "file", "dir/link", 1, nil)
try("fs_readlink", "dir/link")
try("fs_readlink", "dir/file")
try("fs_copyfile", "dir/file", "dir/copy")
try("fs_copyfile", "dir/file", "dir/copy", { excl = true })
try("fs_copyfile", "dir/file", "dir/copy", 1)
try("fs_copyfile", "dir/file", "dir/copy", true)
try("fs_rename", "dir/copy", "dir/third")
try("fs_rename", "dir/copy", "dir/third")
for _, mode in ipairs { "r", "RW", "", "x", 0, 4, "4", "z", "rq" } do
    try("fs_access", "dir/file", mode)
end
try("fs_access", "dir/nothing", "r")
for _, flags in ipairs { "r", "rs", "sr", "r+", "rs+", "sr+", "a", "a+", "w", "w+", "wx", "xw",
    "wx+", "xw+", "ax", "xa", "ax+", "xa+", 0, "0", 66, "rb", "" } do
    local name = "opened" .. tostring(flags):gsub("%W", "")
    local got, err, code = pcall(uv.fs_open, name, flags, 420)
    if type(err) == "number" then
        uv.fs_close(err)
        err = "fd"
    end
    report("fs_open " .. flags, got, err, code)
    report("fs_stat mode", true, (uv.fs_stat(name) or {}).mode)
end
for _, name in ipairs { "dir", "dir/link", "dir/file", "/dev/null", "." } do
    local lstat, plain = uv.fs_lstat(name), uv.fs_stat(name)
    report("types", true, name, lstat.type, plain.type, lstat.mode, plain.nlink, plain.rdev)
end
local statfs = uv.fs_statfs(".")
report("fs_statfs", true, statfs.type, statfs.bsize, type(statfs.blocks), type(statfs.files))
local source, target = uv.fs_open("dir/file", "r", 0), uv.fs_open("dir/sent", "w", 420)
try("fs_sendfile", target, source, 1, 2)
uv.fs_close(source)
uv.fs_close(target)

-- Folders.
local names, listing = {}, uv.fs_scandir("dir")
for name, kind in function() return uv.fs_scandir_next(listing) end do
    names[#names + 1] = name .. ":" .. tostring(kind)
end
report("fs_scandir", true, names, uv.fs_scandir_next(listing))
report("listing", true, (tostring(listing)), uv.req_get_type and uv.req_get_type(listing))
names = {}
local dir = uv.fs_opendir("dir", nil, 2)
report("dir", true, (tostring(dir)), type(dir))
for entries in function() return dir:readdir() end do
    for _, entry in ipairs(entries) do
        names[#names + 1] = entry.name .. ":" .. tostring(entry.type)
    end
end
table.sort(names)
report("readdir", true, names, dir:readdir())
report("closedir", true, dir:closedir())
local made = uv.fs_mkdtemp("madeXXXXXX")
report("fs_mkdtemp", true, #made, made:sub(1, 4), uv.fs_rmdir(made))
try("fs_mkdtemp", "madeXX")
local made_fd, made_path = uv.fs_mkstemp("madeXXXXXX")
report("fs_mkstemp", true, type(made_fd), #made_path, uv.fs_close(made_fd), uv.fs_unlink(made_path))
try("fs_mkstemp", "madeXX")
try("fs_rmdir", "dir")
try("fs_unlink", "dir")
report("fs_realpath", true, uv.fs_realpath("dir/link"):match "[^/]*$")

-- Errors and constants.
for errno = 0, 140 do
    try("translate_sys_error", errno)
end
try("translate_sys_error")
try("translate_sys_error", "x")
local constants = {}
for name, number in pairs(uv.constants) do
    -- Those that luv has had since 1.44.2.
    if not name:find "^[FXWR]_OK$" and not name:find "^TTY_MODE_" and not name:find "^FS_UTIME_"
        and not name:find "^THREAD_" and name ~= "UDP_REUSEPORT" and name ~= "PIPE_NO_TRUNCATE" then
        constants[name] = number
    end
end
report("constants", true, constants)

-- The system and this process.
for _, name in ipairs { "version", "version_string", "getpid", "getuid", "getgid", "os_getpid",
    "os_getppid", "os_tmpdir", "os_homedir", "os_get_passwd", "os_gethostname", "os_uname",
    "get_total_memory", "get_constrained_memory", "interface_addresses", "exepath",
    "available_parallelism", "get_process_title", "set_process_title", "setuid", "setgid", "chdir",
    "os_getenv", "os_setenv", "os_unsetenv", "os_getpriority", "os_setpriority", "if_indextoname",
    "if_indextoiid", "sleep", "guess_handle", "random" } do
    if name:find "pid" then
        types(name)
    else
        try(name)
    end
    if name ~= "sleep" and not name:find "pid" then
        try(name, NONE)
        try(name, nil, nil)
    end
end
for _, name in ipairs { "hrtime", "uptime", "loadavg", "gettimeofday", "getrusage", "cpu_info",
    "resident_set_memory", "get_free_memory" } do
    types(name)
end
for index = -1, 4 do
    try("if_indextoname", index)
    try("if_indextoiid", index)
end
for _, text in ipairs { "value", "", 12 } do
    try("os_setenv", "MOONLAP_CASE", text)
    try("os_getenv", "MOONLAP_CASE")
    report("os_environ", true, uv.os_environ().MOONLAP_CASE)
end
try("os_unsetenv", "MOONLAP_CASE")
try("os_getenv", "MOONLAP_CASE")
try("os_setenv", "a=b", "c")
try("os_getpriority", 0)
try("os_getpriority", -5)
try("os_setpriority", 0, 0)
try("os_setpriority", 0, 100)
try("chdir", "nowhere")
try("setuid", "x")
for file = -1, 3 do
    try("guess_handle", file)
end
try("random", 0)
try("random", -1)
try("random", 4, -1)
try("random", 4, "flags")
try("random", 4, nil, 5)
report("random", true, #uv.random(16), #uv.random(16, {}))

-- Processes. A child that runs is the specs' affair.
for _, options in ipairs { { args = 1 }, { stdio = 1 }, { stdio = { "a" } }, { stdio = { {} } },
    { env = 1 }, { cwd = 1 }, { cwd = {} }, { uid = "1" }, { uid = {} }, { gid = true } } do
    try("spawn", "true", options)
end
try("spawn")
try("spawn", "true")
try("spawn", {})
try("spawn", "true", "options")
try("kill")
try("kill", "x")
try("kill", 2 ^ 22 + 1)
try("kill", uv.getpid(), 0)
try("kill", uv.getpid(), 1000)
try("disable_stdio_inheritance")

-- Functions of handles without anything, and with the handle alone. (Some crash luv so.)
local HANDLES = {
    async = { "send" }, check = { "start", "stop" }, idle = { "start", "stop" },
    prepare = { "start", "stop" }, timer = { "set_repeat", "get_repeat", "get_due_in" },
    fs_event = { "start", "stop", "getpath" }, fs_poll = { "start", "stop", "getpath" },
    signal = { "start", "start_oneshot", "stop" },
    tcp = { "open", "nodelay", "keepalive", "simultaneous_accepts", "bind", "getsockname",
        "getpeername", "write_queue_size", "close_reset" },
    pipe = { "open", "bind", "connect", "getsockname", "getpeername", "pending_instances",
        "pending_count", "pending_type", "chmod" },
    udp = { "open", "bind", "getsockname", "set_membership", "set_source_membership",
        "set_multicast_loop", "set_multicast_ttl", "set_multicast_interface", "set_broadcast",
        "set_ttl", "recv_start", "recv_stop", "connect" },
    poll = { "start", "stop" }, process = { "kill", "get_pid" },
}
local kinds = {}
for kind in pairs(HANDLES) do
    kinds[#kinds + 1] = kind
end
table.sort(kinds)
for _, kind in ipairs(kinds) do
    for _, name in ipairs(HANDLES[kind]) do
        try(kind .. "_" .. name)
        try(kind .. "_" .. name, nil)
        try(kind .. "_" .. name, 1, 2)
    end
end
for _, case in ipairs {
    { "new_tcp", "tcp_open" }, { "new_tcp", "tcp_nodelay" }, { "new_tcp", "tcp_bind" },
    { "new_pipe", "pipe_open" }, { "new_pipe", "pipe_bind" }, { "new_udp", "udp_bind" },
    { "new_timer", "timer_set_repeat" }, { "new_idle", "idle_start" },
    { "new_fs_event", "fs_event_start" }, { "new_fs_poll", "fs_poll_start" },
} do
    local handle = uv[case[1]](case[1] == "new_pipe" and false or nil)
    try(case[2], handle)
    try(case[2], handle, nil)
    report("method " .. case[2], pcall(loadstring("local handle = ... handle:"
        .. case[2]:match "_?([^_]*)$" .. "()", "=call"), handle))
    handle:close()
end
local udp = uv.new_udp()
try("udp_connect", udp, nil)
for _, host in ipairs { "x", true, 1 } do
    try("udp_connect", udp, host)
    try("udp_connect", udp, host, nil)
    try("udp_connect", udp, host, "y")
    try("udp_connect", udp, nil, host)
    try("udp_set_membership", udp, host)
    try("udp_set_membership", udp, "x", host)
    try("udp_set_membership", udp, "x", host, "z")
    try("udp_set_source_membership", udp, "x", host, 1, "z")
end
udp:close()
uv.run()

-- The loop's options.
try("loop_configure")
try("loop_configure", "nonsense")
try("loop_configure", {})
try("loop_configure", "block_signal")
try("loop_configure", "block_signal", {})
try("loop_configure", "block_signal", "sigint")
try("loop_configure", "block_signal", "sigprof")
try("loop_configure", "block_signal", 27)
try("metrics_idle_time")
try("loop_configure", "metrics_idle_time")

-- Names. Nothing here asks a server.
for _, case in ipairs {
    { "127.0.0.1" }, { "127.0.0.1", "80" }, { "::1", 443 }, { nil, "http" }, { nil, nil, {} },
    { "127.0.0.1", nil, { socktype = "stream" } },
    { "127.0.0.1", nil, { socktype = "stream", protocol = "tcp", family = "inet" } },
    { "127.0.0.1", nil, { socktype = 2, protocol = "17", family = 2 } },
    { "127.0.0.1", nil, { family = "inet6" } }, { "127.0.0.1", nil, { family = "nonsense" } },
    { "127.0.0.1", nil, { family = true } }, { "127.0.0.1", nil, { socktype = {} } },
    { "127.0.0.1", nil, { protocol = true } }, { "127.0.0.1", nil, { protocol = "nonsense" } },
    { "127.0.0.1", "80", { numericserv = true, numerichost = true, canonname = true } },
    { "127.0.0.1", nil, { numericserv = true, socktype = "dgram" } },
    { nil, "80", { passive = true, socktype = "stream" } },
    { "nowhere.invalid", nil, { numerichost = true } }, { "127.0.0.1", "nonsense" },
    { "127.0.0.1", nil, "hints" }, { "127.0.0.1", nil, nil, "callback" }, { {} }, { "a", {} },
} do
    try("getaddrinfo", unpack(case, 1, table.maxn(case)))
end
try("getaddrinfo")
for _, case in ipairs {
    { ip = "127.0.0.1" }, { ip = "127.0.0.1", port = 80 }, { ip = "127.0.0.1", port = "80" },
    { ip = "127.0.0.1", family = "inet" }, { ip = "127.0.0.1", family = 2, port = 443 },
    { ip = "127.0.0.1", family = "nonsense" }, { ip = "127.0.0.1", family = {} },
    {}, { ip = "nonsense" }, { ip = {} }, { ip = 5 }, { port = {} }, { port = "x" },
    { family = {} }, { family = "nonsense" },
} do
    try("getnameinfo", case)
end
try("getnameinfo")
try("getnameinfo", "x")
try("getnameinfo", {}, 1)

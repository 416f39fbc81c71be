--- libuv for LuaJIT, with luv's API and without a single FFI callback.
--
--     local uv = require "moonlap.uv"
--     local timer = uv.new_timer()
--     timer:start(1000, 0, function() timer:close() end)
--     uv.run()
--
-- How it works: libuv's callbacks are C functions of a small shim (csrc/uvshim), which append
-- records to a vector. When uv_run has returned, Lua reads the records and calls the callbacks
-- itself, from code that LuaJIT compiles. Idle, prepare, check and timers live in Lua altogether.
--
-- The modules, in `moonlap/uv/`: `ffi` (types, loading the library), `errors` (luv's error
-- results), `check` and `arity` (arguments), `out` (texts and lists that libuv writes behind
-- pointers), `queue` (event vector, dispatch), `handle` (what handles share), `closing` (their
-- end), `userdata`, `timer_records` and `due` (what timers have instead), `req` (requests: read
-- its head before adding one), `pending` (the order of writes), `loop` (clock, references), `turn`
-- (the phases of uv.run), `dispatch` (compiled or not); each other module holds one kind of handle
-- or a group of functions.
-- A module with public functions has them in its field `api`, under luv's names; this file
-- collects them. Methods of handles are set through `handle.class`.
-- @module moonlap.uv

local _M = {}

if not jit then
    error("moonlap.uv needs LuaJIT: run this with luajit", 0)
end

for _, name in ipairs {
    "errors", "fault", "req", "handle_functions", "turn", "loop_state", "timer", "watcher",
    "stream", "reading", "writing", "tcp", "pipe", "fd_pair", "tty", "udp", "udp_multicast",
    "async", "poll", "signal", "process", "fs_event", "fs_poll", "thread", "work", "fs", "dns",
    "system", "os", "random", "constants", "go", "zero_copy", "leaks", "shimless",
} do
    for key, value in pairs(require("moonlap.uv." .. name).api) do
        _M[key] = value
    end
end
local method_tables = require("moonlap.uv.handle").method_tables
require("moonlap.uv.arity").install(_M, method_tables)
-- The loop was made before all this was loaded, and timers count from the clock's last reading.
_M.update_time()
require("moonlap.uv.go").install(_M, method_tables)

return _M

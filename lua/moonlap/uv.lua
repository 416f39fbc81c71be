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
-- A module with public functions has them in its field `api`, under luv's names, which `functions`
-- lists; `loading` loads it when one of them is first used, and puts them here. Methods of handles
-- are set through `handle.class`.
-- @module moonlap.uv

local _M = {}

if not jit then
    error("moonlap.uv needs LuaJIT: run this with luajit", 0)
end

-- With the loop, so that it is told at once where the C library is missing, and the clock begins
-- as luv's.
require "moonlap.uv.queue"
require("moonlap.uv.loading").fill(_M)
_M.errno = require("moonlap.uv.errors").api.errno
_M.constants = require("moonlap.uv.constants").api.constants

return _M

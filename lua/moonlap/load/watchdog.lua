--- Ends this process when a hook of the main state does not return: setup(), done(), or the file.
--
-- A hook may loop in compiled code or wait in a system call, so nothing within this process can
-- end it. A process beside it does.
-- @module moonlap.load.watchdog
local ffi = require "ffi"
local kernel = require "moonlap.load.kernel"

local _M = {}

local STEP_MS = 100

ffi.cdef [[
int moonlap_load_getppid(void) __asm__("getppid");
void moonlap_load_end_now(int) __asm__("_exit");
]]


-- Waits in steps: the time in which this process itself stood still does not count, nor that in
-- which the other one was stopped.
local function wait(pid, ns)
    local left = ns
    while left > 0 do
        kernel.poll({}, 0, STEP_MS)
        if not kernel.is_stopped(pid) then
            left = left - STEP_MS * 1e6
        end
    end
end


--- Calls a function. When it takes longer than `ns`, `on_hang` is called in another process, and
-- this one is killed.
-- @tparam number ns
-- @tparam function on_hang
-- @tparam function f
-- @return what f returns
function _M.call(ns, on_hang, f, ...)
    io.stdout:flush()
    local pid = kernel.fork()
    if pid == 0 then
        kernel.die_with_parent()
        local parent = ffi.C.moonlap_load_getppid()
        wait(parent, ns)
        if ffi.C.moonlap_load_getppid() == parent then
            pcall(on_hang)
            ffi.C.moonlap_load_kill(parent, 9)
        end
        ffi.C.moonlap_load_end_now(0)
    end
    local function finish(...)
        if pid > 0 then
            kernel.kill(pid)
        end
        return ...
    end
    return finish(f(...))
end


return _M

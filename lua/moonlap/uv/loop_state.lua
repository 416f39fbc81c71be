--- The loop as a whole: its options, its end, what it holds and how long it has waited.
-- @module moonlap.uv.loop_state

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle_functions = require "moonlap.uv.handle_functions"
local req = require "moonlap.uv.req"
local queue = require "moonlap.uv.queue"
local words = require "moonlap.uv.words"

local q, loop = queue.q, queue.loop

local _M = {}

ffi.cdef [[
int uv_loop_configure(uv_loop_t *, int option, ...);
uint64_t uv_metrics_idle_time(uv_loop_t *);
int uv_metrics_info(uv_loop_t *, void *);
]]

local metrics_t = ffi.typeof
    "struct { uint64_t loop_count, events, events_waiting; void *reserved[13]; }"

local api = {}
_M.api = api

-- uv_loop_option
local OPTIONS = { block_signal = 0, metrics_idle_time = 1 }

--- Sets an option of the loop.
-- @tparam string option `"block_signal"`: no such signal while polling, SIGPROF alone;
--   `"metrics_idle_time"`: measure `uv.metrics_idle_time`
-- @tparam[opt] number|string signum for `"block_signal"`
-- @treturn number 0, or nil, message and name of the error
function api.loop_configure(...)
    local option, signal = check.option(1, OPTIONS, ...), (select(2, ...))
    if option == OPTIONS.block_signal and type(signal) ~= "string" and type(signal) ~= "number" then
        check.argument_error(2, "block_signal option: expected signal as string or number")
    end
    C.uvshim_configured(q)
    return errors.result(C.uv_loop_configure(loop, option,
        ffi.new("int", words.signal(2, ...))))
end

--- How long the loop has waited for events.
-- @treturn number ns; 0 unless `uv.loop_configure` has switched it on
function api.metrics_idle_time()
    return (tonumber(C.uv_metrics_idle_time(loop)))
end

--- What the loop has done; libuv 1.45 and later.
-- @treturn table `loop_count`: libuv's turns; `events`: called back; `events_waiting`: there when
--   it asked
function api.metrics_info()
    local metrics = metrics_t()
    local status = C.uv_metrics_info(loop, metrics)
    if status < 0 then
        return errors.fail(status)
    end
    return {
        loop_count = tonumber(metrics.loop_count), events = tonumber(metrics.events),
        events_waiting = tonumber(metrics.events_waiting),
    }
end

--- Reports whether the loop could end. It ends with the Lua state, and can be used on.
-- @treturn number 0; or nil, message and name of the error: `EBUSY` while handles are open or
--   requests under way
function api.loop_close()
    local is_busy = req.count > 0
    handle_functions.api.walk(function()
        is_busy = true
    end)
    if is_busy then
        return errors.fail(errors.api.errno.EBUSY)
    end
    return 0
end

local function print_handle(userdata)
    io.stderr:write(("[%s%s-] %-8s %p\n"):format(userdata:has_ref() and "R" or "-",
        userdata:is_active() and "A" or "-", (userdata:get_type()), userdata))
end

--- Lists all handles on stderr: R referenced, A active.
function api.print_all_handles()
    handle_functions.api.walk(print_handle)
end

--- Lists the active handles on stderr.
function api.print_active_handles()
    handle_functions.api.walk(function(userdata)
        if userdata:is_active() then
            print_handle(userdata)
        end
    end)
end

return _M

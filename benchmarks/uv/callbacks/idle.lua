-- idle HOW CALLS: an idle handle of libuv called so often, through FFI callbacks. HOW: `one` for
-- all calls; `each` casts a new one for every call and frees it afterwards.
local ffi = require "ffi"
local how, calls = arg[1], tonumber(arg[2])
ffi.cdef [[
typedef struct uv_idle_s uv_idle_t;
typedef void (*uv_idle_cb)(uv_idle_t *);
void *uv_default_loop(void);
size_t uv_handle_size(int type);
int uv_idle_init(void *, uv_idle_t *);
int uv_idle_start(uv_idle_t *, uv_idle_cb);
int uv_idle_stop(uv_idle_t *);
int uv_run(void *, int mode);
]]
local uv = ffi.load "uv.so.1"
local loop, called = uv.uv_default_loop(), 0
local memory = ffi.new("char[?]", uv.uv_handle_size(6))
local handle = ffi.cast("uv_idle_t *", memory)
uv.uv_idle_init(loop, handle)

local current
local function on_idle()
    called = called + 1
    if called == calls then
        uv.uv_idle_stop(handle)
    elseif how == "each" then
        local before = current
        current = ffi.cast("uv_idle_cb", on_idle)
        uv.uv_idle_stop(handle)
        uv.uv_idle_start(handle, current)
        before:free()
    end
end
current = ffi.cast("uv_idle_cb", on_idle)
uv.uv_idle_start(handle, current)
local start = os.clock()
uv.uv_run(loop, 0)
local seconds = os.clock() - start
print(("%s: %d calls, %.2f s of CPU time, %.0f ns each"):format(how, called, seconds,
    seconds / called * 1e9))

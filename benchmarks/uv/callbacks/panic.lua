-- Dies. uv_run is called a thousand times; LuaJIT compiles the loop around it while it does not
-- call back yet; then it does, from within machine code, and there is no Lua stack to enter.
local ffi = require "ffi"
ffi.cdef [[
typedef struct uv_idle_s uv_idle_t;
void *uv_default_loop(void);
size_t uv_handle_size(int type);
int uv_idle_init(void *, uv_idle_t *);
int uv_idle_start(uv_idle_t *, void (*)(uv_idle_t *));
int uv_run(void *, int mode);
]]
local uv = ffi.load "uv.so.1"
local IDLE, NOWAIT = 6, 2

if arg[1] == "interpreted" then
    jit.off()
end
local loop, called = uv.uv_default_loop(), 0
local memory = ffi.new("char[?]", uv.uv_handle_size(IDLE))
local handle = ffi.cast("uv_idle_t *", memory)
uv.uv_idle_init(loop, handle)
local callback = ffi.cast("void (*)(uv_idle_t *)", function() called = called + 1 end)
for i = 1, 1000 do
    uv.uv_run(loop, NOWAIT)
    if i == 900 then
        uv.uv_idle_start(handle, callback)
    end
end
print(("survived: %d calls"):format(called))

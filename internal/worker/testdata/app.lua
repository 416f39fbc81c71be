-- What the worker of the tests does; its lines are named in worker_test.go.

local last, primes = {}, { 31, 37, 41, 43 }
local function mix(a, i) last[i % 7] = a
    return (a * primes[i % 4 + 1] + i) % 1000003
end


local function sum(n)
    local a = 7
    for i = 1, n do
        -- inlined into the loop's trace
        a = mix(a, i)
    end
    return a
end

-- Interpreted, as the compiler is told to leave it alone.
local function slow(n)
    local t = {}
    for i = 1, n do
        t[i % 10] = string.format("%d:%s:%g", i, "some text", i / 3)
        t.last = t.last and i * 2 or i
    end
    return t
end
jit.off(slow)

local function garbage(n)
    local t
    for i = 1, n do t = { i, { i }, { { i } } } end
    return t
end
jit.off(garbage)

-- A C function that compiled code calls.
local function helper(n)
    local s = string.rep("a", 5000)
    for i = 1, n do
        last[i % 7] = s .. i
    end
end

local function resumed()
    local co = coroutine.wrap(function()
        coroutine.yield(sum(5e7))
    end)
    return co()
end

local path = ngx.var.uri
if path == "/none" then return end
if path == "/compiled" then ngx.say(sum(5e6)) end
if path == "/interpreted" then slow(1e5) end
if path == "/garbage" then garbage(1e5) end
if path == "/blocked" then os.execute("sleep 0.2") end
if path == "/helper" then helper(1e5) end
if path == "/coroutine" then ngx.say(resumed()) end

local function deep(n)
    if n == 0 then return slow(1e5) end
    return 1 + #deep(n - 1)
end
jit.off(deep)
if path == "/deep" then pcall(deep, 5000) end
if path == "/endless" then while not last.ended do sum(1e5) end end

-- What heap_test.go looks for: known objects at known places.
if path == "/heap" then
    local store, boxes = {}, {}
    package.loaded["app.cache"] = {
        get = function(key) return store[key] end, boxes = boxes,
        buffer = require("ffi").new("uint8_t[?]", 50000),
        weak = setmetatable({ first = {} }, { __mode = "v" }),
        suspended = coroutine.create(function() local held = { string.rep("held ", 1000) } coroutine.yield(held) end),
    }
    coroutine.resume(package.loaded["app.cache"].suspended)
    for i = 1, 10000 do store["key " .. i] = string.rep("x", 90) .. string.format("%010d", i) end
    for i = 1, 1000 do boxes[i] = { name = "box " .. i, { i } } end
end
if path == "/forget" then package.loaded["app.cache"] = nil end
if path == "/leak" then
    local leak = package.loaded["app.leak"] or { kept = {} }
    package.loaded["app.leak"] = leak
    for i = 1, 5000 do leak.kept[#leak.kept + 1] = { text = "leaked " .. #leak.kept } end
end
-- What Lua itself says: bytes in use after a full collection.
if path == "/count" then
    collectgarbage()
    collectgarbage()
    ngx.header.bytes = collectgarbage("count") * 1024
end

-- LuaJIT's own coroutine, which the Lua module keeps under this name; its are light threads.
local function resumes()
    local inner = coroutine._wrap(function() local n = sum(5e6) return n end)
    return inner() + 1
end
if path == "/resumes" then ngx.say(resumes()) end
-- What sleeps_test.go looks for: what stops the event loop, and what does not.
local ffi = require("ffi")
local function declare(text) pcall(ffi.cdef, text) end -- at each request, in one machine
declare("int usleep(unsigned);")
declare("int open(const char *, int, ...);")
declare("int close(int);")
declare("int flock(int, int);")
if path == "/usleep" then ffi.C.usleep(20000) end
if path == "/traced" then
    for _ = 1, 300 do ffi.C.usleep(100) end
end
if path == "/pipe" then
    local pipe = io.popen("sleep 0.02; echo done")
    ngx.say(pipe:read("*a"))
    pipe:close()
end
if path == "/flock" then -- waits until the test lets go of it
    local file = ffi.C.open(ngx.var.arg_file, 0)
    ffi.C.flock(file, 2)
    ffi.C.close(file)
end
if path == "/busy" then
    local ended = os.clock() + 0.03
    repeat local now = os.clock() until now >= ended
end
if path == "/asleep" then ngx.sleep(0.02) end
if path == "/slow" then -- says nothing for a while
    ngx.sleep(0.02)
    ngx.say("late")
end
if path == "/cosocket" then
    local socket = ngx.socket.tcp()
    assert(socket:connect((ngx.var.server_addr)))
    assert(socket:send("GET /slow HTTP/1.0\r\n\r\n"))
    ngx.say(assert(socket:receive("*a")))
end
if path == "/dogs" then ngx.shared.dogs:set("rex", 1) end -- its lock is held by locks_test.go
-- An FFI call alone in a function that is inlined: nothing has to be guarded right before it.
local C = ffi.C
local function before() C.usleep(0) end
local function nap()
    C.usleep(200)
end
if path == "/nap" then
    for i = 1, 300 do
        before()
        nap()
        last[i % 7] = i
    end
end

if path == "/deepest" then pcall(deep, 15000) end

-- Coroutines, each resumed by the one before, and each deep in calls.
local function nested(n)
    if n == 0 then return slow(1e5) end
    local function down(m)
        if m == 0 then return coroutine._wrap(nested)(n - 1) end
        return 1 + #tostring(down(m - 1))
    end
    jit.off(down)
    return down(1000)
end
if path == "/nested" then pcall(nested, 60) end

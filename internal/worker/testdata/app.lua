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

-- handles MODULE N: so many live handles of each of three kinds, what each takes, and one turn.
local uv = require(arg[1])
local n = tonumber(arg[2])

local function rss()
    local file = assert(io.open "/proc/self/statm")
    local pages = file:read("*l"):match "^%d+ (%d+)"
    file:close()
    return pages * 4096
end

local called = 0
local function call()
    called = called + 1
end

local kinds = {
    { "timer", function() local h = uv.new_timer() h:start(1, 0, call) return h end },
    { "idle", function() local h = uv.new_idle() h:start(call) return h end },
    { "async", function() local h = uv.new_async(call) h:send() return h end },
}

-- A module is loaded when it is first used, and then a collection begins (moonlap.uv.loading).
local first = {}
for i, kind in ipairs(kinds) do
    first[i] = kind[2]()
end
for i = 1, #first do
    first[i]:close()
end
uv.run()

for _, kind in ipairs(kinds) do
    collectgarbage()
    local before, handles, start = rss(), {}, os.clock()
    for i = 1, n do
        handles[i] = kind[2]()
    end
    local made = os.clock() - start
    collectgarbage()
    local bytes = rss() - before
    called, start = 0, os.clock()
    uv.sleep(2)
    uv.run "nowait"
    local ran = os.clock() - start
    assert(called == n, called)
    local live = 0
    uv.walk(function() live = live + 1 end)
    assert(live == n, live)
    for i = 1, n do
        handles[i]:close()
    end
    uv.run()
    print(("%d %ss: %.0f ns to make, %.0f bytes, %.0f ns to call"):format(n, kind[1],
        made / n * 1e9, bytes / n, ran / n * 1e9))
end

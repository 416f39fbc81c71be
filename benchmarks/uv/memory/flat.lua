-- flat MODULE CALLBACKS: so many callbacks of all kinds, in ten stages, and after each the memory.
local uv = require(arg[1])
local calls = tonumber(arg[2]) / 10

local function rss()
    local file = assert(io.open "/proc/self/statm")
    local pages = file:read("*l"):match "^%d+ (%d+)"
    file:close()
    return pages * 4
end

-- Handles that live all the time; others are made and closed as it goes.
local called, stage_end = 0, 0
local idles = {}
local function on_idle()
    called = called + 1
    if called >= stage_end then
        for i = 1, #idles do
            idles[i]:stop()
        end
    end
end
for i = 1, 1000 do
    idles[i] = uv.new_idle()
end

local function one_shot_timers(n)
    for i = 1, n do
        local timer = uv.new_timer()
        timer:start(i % 10, 0, function()
            called = called + 1
            timer:close(function() called = called + 1 end)
        end)
    end
end

local function requests(n)
    local function step(err)
        assert(not err, err)
        called = called + 1
        n = n - 1
        if n > 0 then
            uv.fs_stat("/", step)
        end
    end
    uv.fs_stat("/", step)
end

local function echo(n)
    local server = uv.new_tcp()
    assert(server:bind("127.0.0.1", 0))
    assert(server:listen(16, function()
        local peer = uv.new_tcp()
        server:accept(peer)
        peer:read_start(function(_, data)
            called = called + 1
            if data then
                peer:write(data, function() called = called + 1 end)
            else
                peer:close()
                server:close()
            end
        end)
    end))
    local client = uv.new_tcp()
    client:connect("127.0.0.1", server:getsockname().port, function()
        client:read_start(function()
            called = called + 1
            n = n - 1
            if n == 0 then
                client:close()
            else
                client:write("x" .. n)
            end
        end)
        client:write "x"
    end)
end

print "callbacks\tLua, KiB\tresident, KiB"
for stage = 1, 10 do
    one_shot_timers(calls / 1000)
    requests(calls / 10000)
    echo(calls / 10000)
    stage_end = calls * stage
    for i = 1, #idles do
        idles[i]:start(on_idle)
    end
    uv.run()
    collectgarbage()
    collectgarbage()
    print(("%.0f\t%.0f\t%.0f"):format(called, collectgarbage "count", rss()))
end

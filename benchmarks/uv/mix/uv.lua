-- mix SIDE SECONDS: timers, TCP, UDP, pipes, files, work, asyncs, signals and child processes at
-- once, for SECONDS. Prints how often each was called back, the CPU ns of an event in the first
-- five seconds and in the last five, and the Lua heap's KiB.
local uv = require(arg[1])
local measure = require "measure"
local seconds = tonumber(arg[2])

local events, over = 0, false
local counts = {}

local function event(kind)
    events = events + 1
    counts[kind] = (counts[kind] or 0) + 1
    return not over
end

local timer = uv.new_timer()
local function again()
    if event "timer" then
        timer:start(1, 0, function() again() end)
    else
        timer:close()
    end
end
again()

local server, port
server, port = measure.listen_on(uv, function()
    local peer = uv.new_tcp()
    server:accept(peer)
    peer:read_start(function(_, data)
        if data then
            peer:write(data)
        else
            peer:close()
        end
    end)
end)

local function connect(left)
    local client = uv.new_tcp()
    client:connect("127.0.0.1", port, function(err)
        assert(not err, err)
        client:write "x"
        client:read_start(function()
            left = left - 1
            if not event "tcp" then
                client:close()
                if not server:is_closing() then
                    server:close()
                end
            elseif left > 0 then
                client:write "x"
            else
                client:close()
                connect(100)
            end
        end)
    end)
end
connect(100)
connect(100)

local udp = uv.new_udp()
udp:bind("127.0.0.1", 0)
local udp_port = udp:getsockname().port
udp:recv_start(function(_, data)
    if data and event "udp" then
        udp:send(data, "127.0.0.1", udp_port)
    elseif data then
        udp:close()
    end
end)
udp:send("x", "127.0.0.1", udp_port)

local function stat()
    uv.fs_stat(".", function()
        if event "fs" then
            stat()
        end
    end)
end
stat()

local work
work = uv.new_work(function(x) return x end, function(x)
    if event "work" then
        work:queue(x)
    end
end)
work:queue(1)

local async
async = uv.new_async(function()
    if event "async" then
        async:send(events)
    else
        async:close()
    end
end)
async:send(0)

-- Both ends of a pair of pipes send back what comes.
local fds = assert(uv.socketpair("stream", nil, { nonblock = true }, { nonblock = true }))
local pipes = { uv.new_pipe(false), uv.new_pipe(false) }
for i, pipe in ipairs(pipes) do
    pipe:open(fds[i])
    pipe:read_start(function(_, data)
        if data and event "pipe" then
            pipe:write(data)
        elseif not pipe:is_closing() then
            pipe:close()
        end
    end)
end
pipes[1]:write "x"

-- A child every 20 ms, whose output comes by a pipe; a signal every ms.
local function spawn()
    local out = uv.new_pipe(false)
    local child
    child = uv.spawn("echo", { args = { "x" }, stdio = { nil, out } }, function(status)
        assert(status == 0)
        event "child"
        child:close()
    end)
    out:read_start(function(err, data)
        assert(not err, err)
        if not data then
            event "output"
            out:close()
        end
    end)
end
local births = uv.new_timer()
births:start(0, 20, function()
    if event "births" then
        spawn()
    else
        births:close()
    end
end)

local signal, sender = uv.new_signal(), uv.new_timer()
signal:start("sigusr2", function()
    event "signal"
end)
sender:start(1, 1, function()
    if event "sender" then
        uv.kill(uv.getpid(), "sigusr2")
    else
        sender:close()
        signal:close()
    end
end)

local marks, clock = {}, uv.new_timer()
local start = uv.hrtime()
clock:start(0, 1000, function()
    marks[#marks + 1] = { cpu = measure.cpu_seconds(), events = events }
    if #marks > seconds then
        over = true
        clock:close()
    end
end)
uv.run()
assert(uv.hrtime() - start >= seconds * 1e9)

local function cost(from, to)
    return (marks[to].cpu - marks[from].cpu) / (marks[to].events - marks[from].events) * 1e9
end
collectgarbage()
collectgarbage()
local kinds = {}
for kind, n in pairs(counts) do
    kinds[#kinds + 1] = kind .. " " .. n
end
table.sort(kinds)
print(table.concat(kinds, ", "))
local first, last = cost(1, 6), cost(#marks - 5, #marks)
print(("%d events; first 5 s %.0f ns an event, last 5 s %.0f ns: %.2f; heap %.0f KiB"):format(
    events, first, last, last / first, collectgarbage "count"))

-- mix SIDE SECONDS: timers, TCP, UDP, files, work, asyncs at once, for SECONDS. Prints the CPU ns
-- of an event in the first five seconds and in the last five, and the Lua heap's KiB.
local uv = require(arg[1])
local measure = require "measure"
local seconds = tonumber(arg[2])

local events, over = 0, false

local function event()
    events = events + 1
    return not over
end

local timer = uv.new_timer()
local function again()
    if event() then
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
            if not event() then
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
    if data and event() then
        udp:send(data, "127.0.0.1", udp_port)
    elseif data then
        udp:close()
    end
end)
udp:send("x", "127.0.0.1", udp_port)

local function stat()
    uv.fs_stat(".", function()
        if event() then
            stat()
        end
    end)
end
stat()

local work
work = uv.new_work(function(x) return x end, function(x)
    if event() then
        work:queue(x)
    end
end)
work:queue(1)

local async
async = uv.new_async(function()
    if event() then
        async:send(events)
    else
        async:close()
    end
end)
async:send(0)

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
local first, last = cost(1, 6), cost(#marks - 5, #marks)
print(("%d events; first 5 s %.0f ns an event, last 5 s %.0f ns: %.2f; heap %.0f KiB"):format(
    events, first, last, last / first, collectgarbage "count"))

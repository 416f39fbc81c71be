-- A random program that ends while things are under way: luajit uv_exit.lua SEED. It makes handles
-- and requests of all kinds, runs the loop for a while or not at all, and ends in one of several
-- ways. Callbacks of some raise errors, recurse without end, find no memory, yield, or close
-- everything. Whatever it does, the exit status is 0, or 3 where it says so on stdout.
local ffi = require "ffi"
local uv = require "moonlap.uv"

-- As with luv, who writes to a pipe that nobody reads is ended by SIGPIPE unless it is ignored.
ffi.cdef "void (*signal(int, void (*)(int)))(int);"
ffi.C.signal(uv.constants.SIGPIPE, ffi.cast("void (*)(int)", 1))

local state = tonumber(arg[1])
local function random(n)
    state = (state * 16807) % 2147483647
    return state % n + 1
end
for _ = 1, 5 do
    random(2)
end

local handles = {}
local function keep(handle)
    handles[#handles + 1] = handle
    return handle
end

local function any()
    return handles[random(#handles)]
end

local function close_all()
    uv.walk(function(handle)
        if not handle:is_closing() then
            handle:close()
        end
    end)
end

-- What a callback must not do: of one program in three, each callback does one of these at times.
local faults = {
    function() error "broken" end,
    function() error({}) end,
    function()
        local function deeper() return 1 + deeper() end
        deeper()
    end,
    function() return #("x"):rep(2 ^ 31) end, -- not enough memory
    function() coroutine.yield() end,
    function()
        close_all()
        uv.loop_close()
    end,
    function()
        uv.run()
        uv.stop()
    end,
}
local is_faulty = random(3) == 1
if is_faulty then
    uv.set_error_handler(function() end)
end

local function nothing()
    if is_faulty and random(3) == 1 then
        faults[random(#faults)]()
    end
end

local function ends()
    local flags = { nonblock = true }
    local fds = assert(uv.socketpair("stream", nil, flags, flags))
    local a, b = keep(uv.new_pipe(false)), keep(uv.new_pipe(false))
    a:open(fds[1])
    b:open(fds[2])
    return a, b
end

local kinds = {
    function() keep(uv.new_timer()):start(random(3) - 1, random(2) - 1, nothing) end,
    function() keep(uv.new_idle()):start(nothing) end,
    function() keep(uv.new_prepare()):start(nothing) end,
    function() keep(uv.new_check()):start(nothing) end,
    function() keep(uv.new_async(nothing)):send(1, "two") end,
    function() keep(uv.new_tcp()) end,
    function() keep(uv.new_tcp "inet") end,
    function() keep(uv.new_pipe(random(2) == 1)) end,
    function() keep(uv.new_udp()) end,
    function() keep(uv.new_signal()):start("sigusr2", nothing) end,
    function() keep(uv.new_fs_event()):start(".", {}, nothing) end,
    function() keep(uv.new_fs_poll()):start(".", random(50), nothing) end,
    function()
        local a, b = ends()
        a:read_start(nothing)
        b:read_start(nothing)
        a:write("hello", nothing)
        b:write(("x"):rep(300000), nothing)
        if random(2) == 1 then
            a:shutdown(nothing)
        end
    end,
    function()
        local server = keep(uv.new_tcp())
        server:bind("127.0.0.1", 0)
        server:listen(8, function()
            if random(2) == 1 then
                server:accept(keep(uv.new_tcp()))
            end
        end)
        for _ = 1, random(4) do
            keep(uv.new_tcp()):connect("127.0.0.1", server:getsockname().port, nothing)
        end
    end,
    function()
        local udp = keep(uv.new_udp())
        udp:bind("127.0.0.1", 0)
        udp:recv_start(nothing)
        udp:send("x", "127.0.0.1", udp:getsockname().port, nothing)
    end,
    function() uv.fs_stat(".", nothing) end,
    function() uv.fs_scandir(".", nothing) end,
    function() uv.fs_opendir(".", nothing) end,
    function() uv.fs_readdir(assert(uv.fs_opendir ".", nothing)) end,
    function() uv.getaddrinfo("127.0.0.1", nil, { numerichost = true }, nothing) end,
    function() uv.getnameinfo({ ip = "127.0.0.1" }, nothing) end,
    function() uv.random(16, 0, nothing) end,
    function()
        local child
        child = uv.spawn(random(2) == 1 and "true" or "sleep", { args = { "0.01" } }, nothing)
        keep(child)
    end,
    function() uv.new_work(function() return 1 end, nothing):queue() end,
    function() uv.new_thread(function() return 1 end) end,
    function() uv.new_thread(function() require("luv").new_timer() end):join() end,
    function()
        local handle = #handles > 0 and any()
        if handle and not handle:is_closing() then
            handle:close(random(2) == 1 and nothing or nil)
        end
    end,
    function()
        local handle = #handles > 0 and any()
        if handle then
            (random(2) == 1 and uv.unref or uv.ref)(handle)
        end
    end,
    function() uv.run "nowait" end,
    function()
        local timer = keep(uv.new_timer())
        timer:start(0, 0, uv.stop)
        uv.run "once"
    end,
    function() collectgarbage() end,
}

local function act()
    for _ = 1, random(12) do
        kinds[random(#kinds)]()
    end
end

local ways = {
    function() end,
    function() os.exit(0) end,
    function() os.exit(0, true) end,
    function() io.write "3" os.exit(3, true) end,
    function()
        close_all()
        if random(2) == 1 then
            uv.run()
        end
    end,
    function() -- from within a callback
        keep(uv.new_idle()):start(function()
            os.exit(0, random(2) == 1)
        end)
        uv.run()
    end,
    function() -- in a coroutine that ends with the state
        keep(uv.new_idle()):start(function()
            pcall(coroutine.yield) -- across the loop: an error
            uv.stop()
        end)
        coroutine.wrap(pcall)(uv.run)
    end,
}

act()
if random(2) == 1 then
    handles = { keep(uv.new_timer()) } -- what only the library holds
    act()
end
ways[random(#ways)]()

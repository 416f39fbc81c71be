--- A program that mixes kinds of handles, kinds of callbacks and ways to run the loop, and tells
-- what LuaJIT made of it: `luajit uv_mixture.lua SOURCES BODY WAY ROUNDS` writes JSON.
--
-- SOURCES, with commas: what events come of, see `sources`; BODY: what callbacks do beside, see
-- `bodies`; WAY: how the loop is run, see `ways`. Each source brings some hundred events; a few
-- wait (processes, signals, threads) and bring fewer.

-- Functions that are never compiled: LuaJIT marks those as it marks what it has blacklisted.
local is_off = {}
local jit_off = jit.off
rawset(jit, "off", function(fn, ...)
    if type(fn) == "function" then
        is_off[fn] = true
    end
    return jit_off(fn, ...)
end)

local uv = require "moonlap.uv"
local util = require "jit.util"
local bit = require "bit"

local SOURCES, BODY, WAY, ROUNDS = arg[1], arg[2], arg[3], tonumber(arg[4])

-- -- what LuaJIT does ---------------------------------------------------------------------------

local OURS = "moonlap/uv"

local function place(fn, pc)
    local ok, info = pcall(util.funcinfo, fn, pc)
    if not ok or not info.source then
        return "C"
    end
    return info.source .. ":" .. tostring(info.currentline or info.linedefined)
end

-- The loading of modules is over when the program begins to run; its aborts are few and once.
local is_loading = true
local aborts, started, storms = {}, nil, {}

-- Places where more was tried in vain than LuaJIT's few attempts at each exit.
local function note_storms()
    for at, list in pairs(aborts) do
        local is_ours = at:find(OURS, 1, true)
        if (is_ours and list.n or list.ours) > 6 then
            local reasons = {}
            for reason in pairs(list.reasons) do
                reasons[#reasons + 1] = reason
            end
            storms[#storms + 1] = ("%s: %d aborts: %s"):format(at, list.n,
                table.concat(reasons, "; "))
        end
    end
    aborts = {}
end
jit_off(note_storms)

-- Interpreted: to record it would be an abort of its own.
local function on_trace(what, _, fn, pc, other, reason)
    if what == "flush" then -- it tries everything anew
        note_storms()
    elseif what == "start" then
        -- Each exit of a trace is tried a few times, and then is no more.
        started = place(fn, pc) .. (other and (" exit %d/%d"):format(other, reason) or "")
    elseif what == "abort" and started and not is_loading then
        local key = started
        local list = aborts[key] or { n = 0, ours = 0, reasons = {} }
        aborts[key] = list
        list.n = list.n + 1
        local at = place(fn, pc)
        if at:find(OURS, 1, true) then
            list.ours = list.ours + 1
        end
        list.reasons[("error %s at %s"):format(tostring(other), at)] = true
    end
end
jit_off(on_trace)
jit.attach(on_trace, "trace")

-- -- sources: each calls `event()` in its callbacks, until that returns false -------------------

local message = ("x"):rep(64)
local sources = {}

function sources.near(event)
    local timer = uv.new_timer()
    local function again()
        if event() then
            timer:start(0, 0, again)
        else
            timer:close()
        end
    end
    timer:start(0, 0, again)
end

function sources.far()
    local timer = uv.new_timer()
    timer:start(3600000, 0, function() end)
    timer:unref()
end

function sources.repeating(event)
    local timer = uv.new_timer()
    timer:start(1, 1, function()
        if not event(20) then
            timer:close()
        end
    end)
end

function sources.cancelled(event)
    local timer, timeout = uv.new_timer(), uv.new_timer()
    local function again()
        timeout:stop()
        timeout:start(1000 + event.left % 7, 0, function() error "not cancelled" end)
        if event() then
            timer:start(0, 0, again)
        else
            timer:close()
            timeout:close()
        end
    end
    timer:start(0, 0, again)
end

function sources.many(event) -- timers of one moment
    local function lot()
        local left = 300
        for _ = 1, 300 do
            local timer = uv.new_timer()
            timer:start(0, 0, function()
                timer:close()
                left = left - 1
                if left == 0 and event(100) then
                    lot()
                end
            end)
        end
    end
    lot()
end

function sources.idle(event)
    local idle = uv.new_idle()
    idle:start(function()
        if not event() then
            idle:close()
        end
    end)
end

function sources.phases(event)
    local idle, prepare, check = uv.new_idle(), uv.new_prepare(), uv.new_check()
    idle:start(function() end)
    prepare:start(function() event() end)
    check:start(function()
        if not event() then
            idle:close()
            prepare:close()
            check:close()
        end
    end)
end

local function echo(event, server, client, connect)
    server:listen(16, function(err)
        assert(not err, err)
        local peer = server:get_type() == "tcp" and uv.new_tcp() or uv.new_pipe(false)
        server:accept(peer)
        peer:read_start(function(_, data)
            if data then
                peer:write(data)
            else
                peer:close()
            end
        end)
    end)
    connect(function(err)
        assert(not err, err)
        client:read_start(function(_, data)
            if data and event() then
                client:write(message, function(failed) assert(not failed) end)
            else
                client:close()
                server:close()
            end
        end)
        client:write(message)
    end)
end

function sources.tcp(event)
    local server, client = uv.new_tcp(), uv.new_tcp()
    server:bind("127.0.0.1", 0)
    echo(event, server, client, function(callback)
        client:connect("127.0.0.1", server:getsockname().port, callback)
    end)
end

function sources.pipe(event)
    local server, client = uv.new_pipe(false), uv.new_pipe(false)
    local path = os.tmpname()
    os.remove(path)
    server:bind(path)
    echo(event, server, client, function(callback)
        client:connect(path, callback)
    end)
end

function sources.short(event) -- short connections with closures of their own
    local server = uv.new_tcp()
    server:bind("127.0.0.1", 0)
    local port = server:getsockname().port
    server:listen(16, function()
        local peer = uv.new_tcp()
        server:accept(peer)
        peer:read_start(function(_, data)
            if data then
                peer:write("answer " .. data, function()
                    peer:shutdown(function() peer:close() end)
                end)
            end
        end)
    end)
    local function one()
        local client, got = uv.new_tcp(), ""
        client:connect("127.0.0.1", port, function(err)
            assert(not err, err)
            client:write "request"
            client:read_start(function(_, data)
                if data then
                    got = got .. data
                    return
                end
                assert(got == "answer request")
                client:close(function()
                    if event(4) then
                        one()
                    else
                        server:close()
                    end
                end)
            end)
        end)
    end
    one()
end

function sources.udp(event)
    local a, b = uv.new_udp(), uv.new_udp()
    a:bind("127.0.0.1", 0)
    b:bind("127.0.0.1", 0)
    local port = b:getsockname().port
    b:recv_start(function(_, data, from)
        if data then
            b:send(data, from.ip, from.port, function() end)
        end
    end)
    a:recv_start(function(_, data)
        if data and event() then
            a:send(message, "127.0.0.1", port)
        elseif data then
            a:close()
            b:close()
        end
    end)
    a:send(message, "127.0.0.1", port)
end

function sources.fs(event)
    local function again()
        uv.fs_open("/etc/hostname", "r", 420, function(_, fd)
            uv.fs_fstat(fd, function()
                uv.fs_read(fd, 100, 0, function()
                    uv.fs_close(fd, function()
                        if event(4) then
                            again()
                        end
                    end)
                end)
            end)
        end)
    end
    again()
end

function sources.fs_sync(event)
    local timer = uv.new_timer()
    local function again()
        local fd = assert(uv.fs_open("/etc/hostname", "r", 420))
        assert(uv.fs_fstat(fd).size)
        assert(uv.fs_read(fd, 100, 0))
        assert(uv.fs_close(fd))
        assert(uv.fs_stat "/")
        if event() then
            timer:start(0, 0, again)
        else
            timer:close()
        end
    end
    timer:start(0, 0, again)
end

function sources.dns(event)
    local hints = { numerichost = true }
    local function again()
        uv.getaddrinfo("127.0.0.1", "80", hints, function(err)
            assert(not err, err)
            if event(4) then
                again()
            end
        end)
    end
    again()
end

function sources.work(event)
    local work
    work = uv.new_work(function(x) return x + 1, "text" end, function(x, text)
        assert(x and text == "text")
        if event(4) then
            work:queue(x)
        end
    end)
    work:queue(1)
end

function sources.async(event)
    local async
    async = uv.new_async(function(a, b)
        assert(a == event.left and b == "b")
        if event() then
            async:send(event.left, "b")
        else
            async:close()
        end
    end)
    async:send(event.left, "b")
end

function sources.process(event)
    local function again()
        local child
        child = uv.spawn("/bin/true", { args = { "a" } }, function()
            child:close()
            if event(100) then
                again()
            end
        end)
    end
    again()
end

function sources.signal(event)
    local signal = uv.new_signal()
    signal:start("sigusr1", function()
        if event(4) then
            uv.kill(uv.getpid(), "sigusr1")
        else
            signal:close()
        end
    end)
    uv.kill(uv.getpid(), "sigusr1")
end

function sources.poll(event)
    local fds = assert(uv.socketpair("stream", nil, { nonblock = true }, { nonblock = true }))
    local poll, pipe = uv.new_poll(fds[1]), uv.new_pipe(false)
    pipe:open(fds[2])
    poll:start("rw", function(_, events)
        if events:find "r" then
            uv.fs_read(fds[1], 64)
        end
        if event() then
            pipe:write "x"
        else
            poll:close()
            pipe:close()
        end
    end)
end

function sources.fs_event(event)
    local folder = assert(uv.fs_mkdtemp "/tmp/moonlap-mixture-XXXXXX")
    local watch, is_over = uv.new_fs_event(), false
    local function touch()
        uv.fs_close(uv.fs_open(folder .. "/file", "w", 384))
    end
    watch:start(folder, {}, function(_, name)
        assert(name == "file")
        if is_over then
            return
        elseif event(2) then
            touch()
        else
            is_over = true
            watch:close()
            uv.fs_unlink(folder .. "/file")
            uv.fs_rmdir(folder)
        end
    end)
    touch()
end

function sources.fs_poll(event)
    local path = os.tmpname()
    local fd = uv.fs_open(path, "w", 384)
    local watch, timer = uv.new_fs_poll(), uv.new_timer()
    watch:start(path, 1, function(_, before, after)
        assert(before and after)
        if not event(50) then
            watch:close()
            timer:close()
            uv.fs_close(fd)
            os.remove(path)
        end
    end)
    timer:start(1, 1, function() uv.fs_write(fd, "x") end)
end

function sources.folder(event) -- loops over what a request has found
    local function again()
        uv.fs_scandir("/etc/ssl", function(_, listing)
            local count = 0
            while uv.fs_scandir_next(listing) do
                count = count + 1
            end
            uv.fs_opendir("/etc/ssl", function(_, dir)
                local entries = dir:readdir()
                dir:closedir()
                assert(#entries <= count)
                if event(8) then
                    again()
                end
            end, 50)
        end)
    end
    again()
end

function sources.missing(event) -- errors, with and without a callback, returned and raised
    local timer = uv.new_timer()
    local function again()
        assert(not uv.fs_stat "/nowhere")
        assert(not pcall(uv.fs_stat))
        assert(not pcall(timer.start, timer, "soon"))
        uv.fs_open("/nowhere", "r", 0, function(err)
            assert(err)
            if event(2) then
                timer:start(0, 0, again)
            else
                timer:close()
            end
        end)
    end
    again()
end

sources["go"] = function(event) -- coroutines of the library's
    for _ = 1, 3 do
        uv.go(function()
            while event(3) do
                assert(uv.fs_stat "/")
                uv.wait(0)
                local fd = uv.fs_open("/etc/hostname", "r", 0)
                uv.fs_close(fd)
            end
        end)
    end
end

function sources.pieces(event) -- lists of strings, and more than a pipe takes at once
    local fds = assert(uv.socketpair("stream", nil, { nonblock = true }, { nonblock = true }))
    local from, to = uv.new_pipe(false), uv.new_pipe(false)
    from:open(fds[1])
    to:open(fds[2])
    local large, left = { message:rep(4000), "and", message:rep(4000) }, 0
    local function write()
        left = 8000 * #message + 3
        from:write(large, function(err) assert(not err, err) end)
    end
    local function read(_, data)
        to:read_stop()
        left = left - #data
        if left > 0 then
            to:read_start(read)
        elseif event(10) then
            to:read_start(read)
            write()
        else
            from:close()
            to:close()
        end
    end
    to:read_start(read)
    write()
end

function sources.walk(event)
    local timer = uv.new_timer()
    local function again()
        local count = 0
        uv.walk(function(handle)
            count = count + (handle:is_closing() and 0 or 1)
        end)
        assert(count > 0)
        assert(not uv.run "nowait") -- it is running already
        if event(2) then
            timer:start(0, 0, again)
        else
            timer:close()
        end
    end
    timer:start(0, 0, again)
end

function sources.making(event) -- handles of all kinds that are made and closed, never started
    local timer, kinds = uv.new_timer(), { "idle", "tcp", "udp", "signal", "fs_event", "fs_poll" }
    local function again()
        for _, kind in ipairs(kinds) do
            uv["new_" .. kind]():close(event.left % 3 == 0 and function() end or nil)
        end
        if event(3) then
            timer:start(0, 0, again)
        else
            timer:close()
        end
    end
    timer:start(0, 0, again)
end

local new_timer, hrtime, fs_stat = uv.new_timer, uv.hrtime, uv.fs_stat

function sources.early(event) -- functions that the program took before their modules were loaded
    local timer, sink = new_timer(), 0
    local function again()
        for _ = 1, 10 do
            sink = sink + hrtime() % 2 + #fs_stat("/").type
        end
        new_timer():close()
        if event() then
            timer:start(0, 0, again)
        else
            timer:close()
        end
    end
    timer:start(0, 0, again)
end

function sources.thread(event) -- threads that send to an async of this one
    local async
    local function start()
        uv.new_thread(function(to)
            for i = 1, 20 do
                to:send(i, "text")
            end
        end, async)
    end
    async = uv.new_async(function(number, text)
        if not number then
            return
        end
        assert(text == "text")
        if not event(20) then
            async:close()
        elseif number == 20 then
            start()
        end
    end)
    start()
end

function sources.children(event) -- what children print
    local function again()
        local out = uv.new_pipe(false)
        local child
        child = uv.spawn("/bin/echo", { args = { "a" }, stdio = { nil, out } }, function()
            child:close()
        end)
        out:read_start(function(_, data)
            if data then
                assert(data == "a\n")
            else
                out:close()
                if event(150) then
                    again()
                end
            end
        end)
    end
    again()
end

-- -- what callbacks do beside -------------------------------------------------------------------

local sum = 0
local bodies = {}

function bodies.plain()
    sum = sum + 1
end

function bodies.closure()
    local kept = sum
    bodies.last = function() return kept end
    sum = sum + 1
end

function bodies.loop()
    for i = 1, sum % 13 do
        sum = sum + i % 3
    end
    sum = sum + 1
end

local co = coroutine.wrap(function()
    while true do
        sum = sum + 1
        coroutine.yield()
    end
end)
function bodies.coroutine()
    co()
end

local thrown = 0
function bodies.throw()
    sum = sum + 1
end

local function count_arguments(...)
    return select("#", ...)
end
function bodies.varargs(...)
    local list = { count_arguments(...), ... }
    sum = sum + #{ unpack(list) }
end

function bodies.fresh_coroutine()
    local fresh = coroutine.create(function(a)
        sum = sum + coroutine.yield(a)
    end)
    coroutine.resume(fresh, 1)
    coroutine.resume(fresh, 1)
end

function bodies.library() -- what LuaJIT does not compile
    local text = ("abc"):gsub("b", function(letter) return letter:upper() end)
    for key in pairs { a = text } do
        sum = sum + #key
    end
    sum = sum + #os.date "%d" - 1
end

function bodies.collect() -- finalizers that call the library
    local proxy = newproxy(true)
    getmetatable(proxy).__gc = function()
        uv.new_timer():close()
        uv.fs_stat "/"
    end
    sum = sum + 1
    if sum % 50 == 0 then
        collectgarbage()
    end
end

function bodies.flush() -- LuaJIT begins anew now and then
    sum = sum + 1
    if sum % 500 == 0 then
        jit.flush()
    end
end

local makers = {}
for i = 1, 300 do
    makers[i] = loadstring("local n = ... for i = 1, n % 3 do n = n + i end return n + " .. i)
end
function bodies.prototypes() -- many functions, each called seldom
    sum = sum + 1 + makers[sum % 300 + 1](sum) % 2
end

local function depth(n)
    return n == 0 and 1 or depth(n - 1) + 0
end
function bodies.recursion()
    sum = sum + depth(sum % 40)
end

function bodies.change() -- another kind of value, and another way, late
    sum = sum + 1
    bodies.last = sum % 1000 < 500 and sum or tostring(sum)
    if sum > 1500 then
        bodies.closure()
    end
end

function bodies.caught()
    sum = sum + 1
    pcall(error, "on purpose")
    xpcall(function() error { sum } end, function(err) return err end)
end

-- -- ways to run the loop -----------------------------------------------------------------------

local ways = {}

function ways.default()
    uv.run()
end

function ways.nowait()
    while uv.run "nowait" do
        sum = sum + 1
    end
end

function ways.once()
    while uv.run "once" do
        sum = sum + 1
    end
end

function ways.stop() -- what stops the loop, and the program's loop around it
    local stopper = uv.new_check()
    stopper:start(function() uv.stop() end)
    stopper:unref()
    while uv.run() do
        sum = sum + 1
    end
end

-- -- the program --------------------------------------------------------------------------------

uv.set_error_handler(function(err)
    if not tostring(err):find "on purpose" then
        io.stderr:write(tostring(err), "\n")
        os.exit(1)
    end
    thrown = thrown + 1
end)

local body = bodies[BODY]

local function start(name)
    local event = setmetatable({ left = ROUNDS }, { __call = function(self, weight)
        self.left = self.left - (weight or 1)
        body()
        return self.left > 0
    end })
    sources[name](event)
    if BODY == "throw" and name ~= "far" then -- a callback that always throws, beside
        local timer = uv.new_timer()
        timer:start(0, 1, function()
            if event.left <= 0 then
                timer:close()
            end
            error "on purpose"
        end)
    end
end

is_loading = false
local late = {}
for name in SOURCES:gmatch "[^,]+" do
    local later = name:match "^late%-(.*)"
    if later then
        late[#late + 1] = later
    else
        start(name)
    end
end
if #late > 0 then -- when everything else is compiled
    local timer, turns = uv.new_timer(), 0
    local function wait()
        turns = turns + 1
        if turns < 400 then
            timer:start(0, 0, wait)
            return
        end
        timer:close()
        for _, name in ipairs(late) do
            start(name)
        end
    end
    timer:start(0, 0, wait)
end
ways[WAY]()
jit.attach(on_trace)

-- -- what has come of it ------------------------------------------------------------------------

-- FORL, ITERL, LOOP, FUNCF and FUNCV have twins that are blacklisted, one number further.
local FUNCF = bit.band(util.funcbc(function() end, 0), 0xff)
local BLACKLISTED = {
    [FUNCF - 9] = "for", [FUNCF - 6] = "iterator", [FUNCF - 3] = "loop", [FUNCF + 1] = "function",
    [FUNCF + 4] = "vararg function",
}

local blacklisted, seen = {}, {}
local visit

local function visit_function(fn)
    for i = 1, 255 do
        local name, value = debug.getupvalue(fn, i)
        if not name then
            break
        end
        visit(value)
    end
    local info = debug.getinfo(fn, "S")
    if info.what == "C" or is_off[fn] then
        return
    end
    local pc = 0
    while true do
        local instruction = util.funcbc(fn, pc)
        if not instruction then
            return
        end
        local kind = BLACKLISTED[bit.band(instruction, 0xff)]
        if kind and (info.source:find(OURS, 1, true) or info.source:find "uv_mixture") then
            blacklisted[#blacklisted + 1] = kind .. " " .. place(fn, pc)
        end
        pc = pc + 1
    end
end

function visit(value)
    local kind = type(value)
    if (kind ~= "function" and kind ~= "table") or seen[value] then
        return
    end
    seen[value] = true
    if kind == "function" then
        visit_function(value)
    else
        for key, item in next, value do
            visit(key)
            visit(item)
        end
    end
end
visit(package.loaded)
for _, list in ipairs { sources, bodies, ways } do
    visit(list)
end

note_storms()
table.sort(storms)
table.sort(blacklisted)
io.write(require("moonlap.json").encode {
    events = sum, thrown = thrown, storms = table.concat(storms, "\n"),
    blacklisted = table.concat(blacklisted, "\n"),
})

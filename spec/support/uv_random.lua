-- A random program for a libuv binding: luajit uv_random.lua MODULE SEED prints each callback in
-- the order in which it came. Nothing in it depends on how long anything takes: timers have 0 ms,
-- and a pipe carries one message at a time.
local module, seed = arg[1], tonumber(arg[2])
local uv = require(module)

local state = seed
local function random(n)
    state = (state * 16807) % 2147483647
    return state % n + 1
end

local calls, most_calls = 0, 150
local watchers, pipes, timers = {}, {}, {}
local under_way = false
local act

local function log(...)
    io.write(table.concat({ ... }, " "), "\n")
end

local function close(thing)
    if not thing.closed then
        thing.closed = true
        thing.handle:close(function()
            log("closed", thing.name)
        end)
    end
end

local function called(name, thing)
    calls = calls + 1
    log(name)
    if calls < most_calls then
        for _ = 1, random(3) do
            act(thing)
        end
    else
        for _, list in ipairs { watchers, pipes, timers } do
            for _, other in ipairs(list) do
                if not other.busy then
                    close(other)
                end
            end
        end
    end
end

local function add_watcher()
    local kind = ({ "idle", "prepare", "check" })[random(3)]
    local thing = { name = kind .. #watchers + 1, handle = uv["new_" .. kind]() }
    thing.start = function()
        thing.handle:start(function()
            called(thing.name, thing)
        end)
    end
    watchers[#watchers + 1] = thing
    thing.start()
end

local function add_timer()
    local thing = { name = "timer" .. #timers + 1, handle = uv.new_timer() }
    timers[#timers + 1] = thing
    thing.handle:start(0, 0, function()
        called(thing.name, nil)
        close(thing)
    end)
end

local function add_pipe()
    local fds = assert(uv.socketpair("stream", nil, { nonblock = true }, { nonblock = true }))
    local name = "pipe" .. #pipes + 1
    local ends = {}
    for i = 1, 2 do
        local thing = { name = name .. (i == 1 and "a" or "b"), handle = uv.new_pipe(false) }
        assert(thing.handle:open(fds[i]))
        ends[i] = thing
        pipes[#pipes + 1] = thing
    end
    for i = 1, 2 do
        local thing, other = ends[i], ends[3 - i]
        thing.other = other
        thing.handle:read_start(function(err, data)
            if data then
                thing.busy, other.busy, under_way = false, false, false
                if calls >= most_calls then
                    close(thing)
                end
            end
            called(thing.name .. " read " .. tostring(err) .. " " .. tostring(data), nil)
            if not data then
                under_way = false
                close(thing)
            end
        end)
    end
end

local function write(thing)
    if thing.closed or under_way or thing.other.closed then
        return
    end
    under_way = true
    thing.busy, thing.other.busy = true, true
    thing.handle:write("m" .. calls, function(err)
        log("wrote", thing.name, tostring(err))
    end)
end

local function any(list)
    return #list > 0 and list[random(#list)] or nil
end

-- Timers are not started from timers: there libuv before 1.48 differs from later ones.
function act(thing)
    local what = random(10)
    local other = any(watchers)
    if what == 1 and thing and #watchers < 12 then
        add_watcher()
    elseif what == 2 and other then
        close(other)
    elseif what == 3 and other and not other.closed then
        other.handle:stop()
    elseif what == 4 and other and not other.closed then
        other.start()
    elseif what == 5 and thing and #timers < 30 then
        add_timer()
    elseif what == 6 and #pipes < 8 then
        add_pipe()
    elseif what <= 8 and #pipes > 0 then
        write(any(pipes))
    elseif what == 9 and random(6) == 1 then
        uv.stop()
    elseif what == 10 and #pipes > 0 and random(4) == 1 then
        -- With a message under way it would depend on who reads first what the other end gets.
        local pipe = any(pipes)
        if not under_way and not pipe.closed and not pipe.other.closed then
            under_way = true -- the end is a message too
            close(pipe)
        end
    end
end

for _ = 1, 2 + random(3) do
    add_watcher()
end
add_pipe()
add_timer()

-- Never blocks, as there is always an idle handle; and ends.
local turns = 0
local keeper = uv.new_idle()
keeper:start(function()
    turns = turns + 1
    if turns == 300 then
        calls = most_calls
        called("end", nil)
        keeper:close()
    end
end)

repeat
    local alive = uv.run(({ "default", "once", "nowait" })[random(3)])
    log("run", tostring(alive))
    if alive and calls < most_calls and random(4) == 1 then
        add_timer()
        write(any(pipes))
    end
until not alive

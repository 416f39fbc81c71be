-- What the worker of watched_test.go does; its lines are named there.
local _M = {}

function _M.sleep()
    ngx.sleep(1e6)
end

local function inner()
    ngx.sleep(1e6)
end

function _M.thread()
    local thread = ngx.thread.spawn(inner)
    ngx.thread.wait(thread)
end

function _M.capture()
    ngx.location.capture("/inner")
end

local function tick(premature)
    if not premature then ngx.sleep(1e6) end
end

function _M.timers()
    ngx.timer.at(0, tick)
    for hours = 1, 3 do ngx.timer.at(3600 * hours, tick) end
end

-- A loop that LuaJIT gives up, because it makes closures (NYI: bytecode FNEW).
local function closures(n)
    local t = {}
    for i = 1, n do
        t[i % 5] = function() return i end
    end
    return t
end

function _M.blacklist()
    for _ = 1, 3000 do closures(100) end
end

function _M.fill()
    local dict = ngx.shared.full
    for i = 1, 2000 do dict:set("key" .. i, ("x"):rep(200)) end
end

-- Two connections at once, kept in a pool of seven places.
function _M.keep()
    local all = {}
    for i = 1, 2 do
        all[i] = ngx.socket.tcp()
        assert(all[i]:connect(ngx.var.arg_to))
    end
    for i = 1, 2 do assert(all[i]:setkeepalive(1e6, 7)) end
    ngx.say("kept")
end

-- A pool of two connections, which are in use, and a third connect that waits for one of them.
function _M.hold()
    local options = { pool = "held", pool_size = 2, backlog = 5 }
    for i = 1, 3 do
        local socket = ngx.socket.tcp()
        socket:settimeout(1e6)
        assert(socket:connect(ngx.var.arg_to, options))
        _M[i] = socket
    end
end

-- What nginx and its Lua module say of themselves.
function _M.truth()
    local full, empty = ngx.shared.full, ngx.shared.empty
    local v = ngx.var
    -- A header, because the test's nginx keeps what is printed.
    ngx.header.truth = string.format('{"free":%d,"capacity":%d,"keys":%d,"empty_free":%d,"pending":%d,"running":%d,' ..
        '"active":%d,"reading":%d,"writing":%d,"waiting":%d,"heap":%d}',
        full:free_space(), full:capacity(), #full:get_keys(0), empty:free_space(),
        ngx.timer.pending_count(), ngx.timer.running_count(),
        v.connections_active, v.connections_reading, v.connections_writing, v.connections_waiting,
        collectgarbage("count") * 1024)
end

return _M

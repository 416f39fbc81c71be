-- What threads_test.go has a worker do: trees of light threads that wait, and timers. Its lines are named there.
local _M = {}

local function sleep()
    ngx.sleep(1e6)
end

local function brief() end

local function leaf(depth)
    if depth == 0 then
        sleep()
    end
    leaf(depth - 1)
end

local function resumed()
    ngx.sleep(1e6)
end

local function branch()
    ngx.thread.spawn(leaf, 2)
    ngx.thread.spawn(brief)
    local co = coroutine.create(resumed)
    coroutine.resume(co)
end

-- Two light threads, one of which begins another one, and a coroutine; the coroutine that is never resumed, and two
-- threads that have ended.
function _M.tree()
    local never = coroutine.create(resumed)
    local first = ngx.thread.spawn(branch)
    local second = ngx.thread.spawn(sleep)
    local ended = ngx.thread.spawn(brief)
    ngx.thread.wait(ended)
    ngx.thread.wait(first, second)
    return never
end

local function orphan()
    ngx.thread.spawn(leaf, 1)
end

-- A light thread whose creator has ended.
function _M.orphan()
    ngx.thread.spawn(orphan)
    ngx.sleep(1e6)
end

local function once() end
local function again() end
local function waits()
    sleep()
end

function _M.timers()
    for i = 1, 40 do
        ngx.timer.at(1000 + i, once)
    end
    ngx.timer.every(5000, again)
    for _ = 1, 3 do
        ngx.timer.at(0, waits)
    end
end

return _M

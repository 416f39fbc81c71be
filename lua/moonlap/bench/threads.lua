--- Light threads for yielding targets: nginx's own where there are any, else coroutines
-- that take turns.
-- @module moonlap.bench.threads
jit.off(true, true)

local _M = {}

local create, resume, status = coroutine.create, coroutine.resume, coroutine.status


-- The handler sees the stack where the error was thrown; outside the thread it is gone.
local function guarded(body, handler)
    if not handler then
        return body
    end
    return function()
        local ok, err = xpcall(body, handler)
        if not ok then
            error(err, 0)
        end
    end
end


local function rethrow(thread, err)
    error(type(err) == "string" and debug.traceback(thread, err) or err, 0)
end


-- Plain LuaJIT has no event loop: a thread that yields is resumed on its next turn.
local function run_in_turns(bodies)
    local threads = {}
    for i, body in ipairs(bodies) do
        threads[i] = create(body)
    end
    local alive = #threads
    while alive > 0 do
        for _, thread in ipairs(threads) do
            if status(thread) == "suspended" then
                local ok, err = resume(thread)
                if not ok then
                    rethrow(thread, err)
                end
                if status(thread) == "dead" then
                    alive = alive - 1
                end
            end
        end
    end
end


local function run_in_nginx(bodies)
    local threads = {}
    for i, body in ipairs(bodies) do
        threads[i] = assert(ngx.thread.spawn(body))
    end
    for _, thread in ipairs(threads) do
        local ok, err = ngx.thread.wait(thread)
        if not ok then
            error(err, 0)
        end
    end
end


--- Runs functions as light threads at once, until all have ended. The first error ends it.
-- @tparam boolean in_nginx
-- @tparam {function,...} bodies
-- @tparam[opt] function handler of errors, as for `xpcall`: called where they're thrown
function _M.run(in_nginx, bodies, handler)
    local all = {}
    for i, body in ipairs(bodies) do
        all[i] = guarded(body, handler)
    end
    return (in_nginx and run_in_nginx or run_in_turns)(all)
end


-- Gives way for one turn of the event loop. `ngx.sleep(0)` would do, but writes a warning
-- to the error log at every call where nginx lacks OpenResty's patch for it.
local idle = {} -- semaphores that nobody waits for

local function one_turn()
    local woken = table.remove(idle) or require("ngx.semaphore").new(0)
    assert(ngx.timer.at(0, function() woken:post(1) end))
    woken:wait(1)
    idle[#idle + 1] = woken
end


--- Lets others run; in nginx for about `seconds`, which it rounds down to ms.
-- @tparam boolean in_nginx
-- @tparam number seconds
function _M.pause(in_nginx, seconds)
    if not in_nginx then
        coroutine.yield()
    elseif seconds >= 0.001 then
        ngx.sleep(seconds)
    else
        one_turn()
    end
end


--- Calls a function once and tells whether it yielded on the way.
-- @tparam boolean in_nginx
-- @tparam function body
-- @tparam[opt] function handler of errors, as for `xpcall`
-- @treturn boolean
function _M.yields(in_nginx, body, handler)
    body = guarded(body, handler)
    if in_nginx then
        local thread = assert(ngx.thread.spawn(body))
        -- spawn comes back when the thread first yields, or has ended.
        local yielded = coroutine.status(thread) ~= "zombie" and coroutine.status(thread) ~= "dead"
        local ok, err = ngx.thread.wait(thread)
        if not ok then
            error(err, 0)
        end
        return yielded
    end

    local yielded = false
    local thread = create(body)
    while true do
        local ok, err = resume(thread)
        if not ok then
            rethrow(thread, err)
        end
        if status(thread) == "dead" then
            return yielded
        end
        yielded = true
    end
end


return _M

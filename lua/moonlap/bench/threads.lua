--- Light threads for yielding targets: nginx's own where there are any, else coroutines
-- that take turns.
-- @module moonlap.bench.threads
jit.off(true, true)

local _M = {}

local create, resume, status = coroutine.create, coroutine.resume, coroutine.status


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
                    error(debug.traceback(thread, tostring(err)), 0)
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
function _M.run(in_nginx, bodies)
    return (in_nginx and run_in_nginx or run_in_turns)(bodies)
end


-- Gives way for one turn of the event loop. `ngx.sleep(0)` would do, but writes a warning
-- to the error log at every call where nginx lacks OpenResty's patch for it.
local function one_turn()
    local woken = require("ngx.semaphore").new(0)
    assert(ngx.timer.at(0, function() woken:post(1) end))
    woken:wait(1)
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
-- @treturn boolean
function _M.yields(in_nginx, body)
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
            error(debug.traceback(thread, tostring(err)), 0)
        end
        if status(thread) == "dead" then
            return yielded
        end
        yielded = true
    end
end


return _M

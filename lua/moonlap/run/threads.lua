--- Light threads of a script: as a handler in nginx lasts until its threads end, so does
-- the script.
-- @module moonlap.run.threads
local _M = {}

local POLL_SECONDS = 0.001

local spawned = setmetatable({}, {__mode = "k"})


--- Makes `ngx.thread.spawn` remember its threads.
function _M.install()
    local spawn = ngx.thread.spawn
    ngx.thread.spawn = function(...)
        local thread, err = spawn(...)
        if thread then
            spawned[thread] = true
        end
        return thread, err
    end
end


local function any_runs()
    for thread in pairs(spawned) do
        local state = coroutine.status(thread)
        if state ~= "dead" and state ~= "zombie" then
            return true
        end
    end
    return false
end


--- Comes back when no thread runs any more. It looks rather than waits: a thread can be
-- waited for by its parent only, and the script may have done so.
function _M.wait()
    while any_runs() do
        ngx.sleep(POLL_SECONDS)
    end
end


return _M

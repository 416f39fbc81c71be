--- What libuv has read for a handle that was stopped before Lua heard of it. It is kept, and comes
-- first when the handle starts again.
--
-- A handle's record has the field `deliver`, false while it is stopped, else a function of (h,
-- result, data) that returns what is to be called. `stash` and `is_stashed` are missing at first.
-- @module moonlap.uv.stash

local dispatch = require "moonlap.uv.dispatch"
local work = require("moonlap.uv.loop").work

local _M = {}

-- Handles that read again and have something stashed.
local stashed, n_stashed, stashed_at = {}, 0, 0

--- Keeps something for a handle that is stopped.
-- @tparam table h
-- @param result
-- @param data no pointer that libuv uses again
function _M.keep(h, result, data)
    local stash = h.stash
    if not stash then
        stash = { first = 1, n = 0, deliver = false }
        h.stash = stash
    end
    stash.n = stash.n + 1
    stash[stash.n] = { result = result, data = data }
end

--- Starts a handle that has something stashed.
-- @tparam table h
-- @tparam function deliver
-- @return the `result` that was kept last
function _M.start(h, deliver)
    local stash = h.stash
    stash.deliver = deliver
    if not h.is_stashed then
        h.is_stashed = true
        local n = n_stashed + 1
        n_stashed = n -- before the list gets longer: see moonlap.uv.timer_records
        stashed[n], work.stashed = h, n
    end
    return stash[stash.n].result
end

--- Stops a handle.
-- @tparam table h
function _M.stop(h)
    h.deliver = false
    if h.stash then
        h.stash.deliver = false
    end
end

--- Stops one for good: it is being closed.
-- @tparam table h
function _M.forget(h)
    h.deliver = false
    if h.stash then
        h.stash = false
    end
end

--- Delivers what was stashed to the handles that read again.
function _M.deliver()
    while stashed_at < n_stashed do
        local h = stashed[stashed_at + 1]
        local stash = h.stash
        while stash and stash.deliver do
            local item, deliver = stash[stash.first], stash.deliver -- the stack holds the bytes
            stash[stash.first] = nil
            stash.first = stash.first + 1
            if stash.first > stash.n then
                h.stash, h.deliver = false, deliver
            end
            dispatch.call(deliver(h, item.result, item.data))
            stash = h.stash
        end
        stashed_at = stashed_at + 1
        stashed[stashed_at] = nil
        h.is_stashed = false
    end
    n_stashed, stashed_at, work.stashed = 0, 0, 0
end

jit.off(_M.deliver)

return _M

-- luacheck: std luajit+ngx_lua
--- Histograms of all nginx workers as one, through a shared dict.
--
--     -- in each worker, now and then (a timer of a second, say)
--     workers.publish(ngx.shared.moonlap, "request", stopwatch.histogram)
--     -- in any worker
--     local h = workers.collect(ngx.shared.moonlap, "request")
--
-- A worker's latest histogram replaces its earlier one. After a reload, new workers replace the
-- old ones' histograms, which for a counter is a reset.
-- @module moonlap.workers

local histogram = require "moonlap.histogram"

local _M = {}

local function key(name, worker)
    return ("moonlap:%s:%d"):format(name, worker)
end

--- Writes this worker's histogram.
-- @param dict ngx.shared.NAME
-- @tparam string name
-- @tparam histogram h
-- @treturn boolean true, or nil and an error
function _M.publish(dict, name, h)
    -- The encoding rounds these to buckets, so that they go along.
    local exact = ("%.17g %.17g %.17g "):format(h:min(), h:max(), h:mean() * h:count())
    local ok, err = dict:set(key(name, ngx.worker.id() or 0), exact .. h:encode())
    if not ok then
        return nil, err
    end
    return true
end

--- Merges what all workers have published.
-- @param dict ngx.shared.NAME
-- @tparam string name
-- @treturn histogram empty when nothing was published; or nil and an error
function _M.collect(dict, name)
    local all
    for worker = 0, ngx.worker.count() - 1 do
        local text = dict:get(key(name, worker))
        if text then
            local smallest, largest, sum, encoding = text:match "^(%S+) (%S+) (%S+) (%S+)$"
            local h, err = histogram.decode(encoding or "")
            if not h then
                return nil, "worker " .. worker .. ": " .. err
            end
            if h:count() > 0 then
                h.smallest, h.largest, h.sum = tonumber(smallest), tonumber(largest), tonumber(sum)
            end
            if all then
                local ok
                ok, err = all:merge(h)
                if not ok then
                    return nil, "worker " .. worker .. ": " .. err
                end
            end
            all = all or h
        end
    end
    return all or histogram.new()
end

return _M

--- What is due later: a heap of times, each with what it is for.
-- @module moonlap.load.timers
local floor = math.floor

local _M = {}
local mt = { __index = _M }


--- An empty heap.
function _M.new()
    return setmetatable({ count = 0, times = {}, items = {} }, mt)
end


--- Adds an item.
-- @tparam number at ns
-- @param item anything but nil
function _M:push(at, item)
    local times, items = self.times, self.items
    local i = self.count + 1
    self.count = i
    while i > 1 do
        local parent = floor(i / 2)
        if times[parent] <= at then
            break
        end
        times[i], items[i] = times[parent], items[parent]
        i = parent
    end
    times[i], items[i] = at, item
end


--- When the first is due; infinity when there is none.
function _M:first()
    return self.count > 0 and self.times[1] or math.huge
end


--- Takes the first item out when it is due by `now`, else returns nil. Its time is the second
-- result.
function _M:pop(now)
    local times, items, count = self.times, self.items, self.count
    if count == 0 or times[1] > now then
        return nil
    end
    local item, when = items[1], times[1]
    local at, last = times[count], items[count]
    times[count], items[count] = nil, nil
    count = count - 1
    self.count = count
    if count == 0 then
        return item, when
    end
    local i = 1
    while true do
        local child = i * 2
        if child > count then
            break
        end
        if child < count and times[child + 1] < times[child] then
            child = child + 1
        end
        if times[child] >= at then
            break
        end
        times[i], items[i] = times[child], items[child]
        i = child
    end
    times[i], items[i] = at, last
    return item, when
end


return _M

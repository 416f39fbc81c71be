--- `wrk.thread`: the thread as its own script sees it.
-- @module moonlap.load.own_thread
local period = require "moonlap.load.period"
local resolve = require "moonlap.load.resolve"
local socket = require "moonlap.load.socket"

local _M = {}


--- The thread of a script's state.
-- @tparam table self the thread
-- @tparam int index of the side that the script belongs to
-- @tparam function side_of the side of an index, nil before there is one
function _M.new(self, index, side_of)
    local thread = {}
    local env = self.scripts[index].env
    local methods = {
        get = function(_, name)
            return env[name]
        end,
        set = function(_, name, v)
            env[name] = v
        end,
        stop = function()
            self.stopped = true
            period.cut_short(self)
        end,
    }
    return setmetatable(thread, {
        __index = function(_, key)
            if key == "addr" then
                return self.addresses[index] and resolve.new(self.addresses[index])
            end
            return methods[key] or key
        end,
        __newindex = function(_, key, v)
            if key ~= "addr" then
                error("a thread has no field '" .. tostring(key) .. "' to set: use thread:set()", 2)
            end
            self.addresses[index] = tostring(v)
            local side = side_of(index)
            if side then
                local address, err = socket.address(tostring(v))
                if not address then
                    error(err, 2)
                end
                side.addresses = { address }
            end
        end,
    })
end


return _M

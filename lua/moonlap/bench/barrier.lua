--- Lets the workers of one nginx begin together, and keeps all of them busy until the last
-- has measured: contention that ends early is no contention.
-- @module moonlap.bench.barrier
local ffi = require "ffi"

jit.off(true, true)

local _M = {}
local mt = {__index = _M}

local C = ffi.C
local PAUSE = 50        -- µs
local PAUSE_YIELD = 0.001 -- s

ffi.cdef [[
int moonlap_barrier_usleep(unsigned int usec) __asm__("usleep");
]]


--- A barrier of several workers, by a shared dict of nginx; of one worker, none.
-- @tparam int workers
-- @tparam[opt] table dict `ngx.shared.moonlap_internal`
-- @tparam[opt] boolean can_yield whether nginx lets the calling code yield
-- @treturn table
function _M.new(workers, dict, can_yield)
    return setmetatable({
        workers = workers, dict = workers > 1 and dict or nil, can_yield = can_yield,
    }, mt)
end


local function arrived(self, name)
    return (self.dict:get(name) or 0) >= self.workers
end


--- Waits until all have come here. Where it may, it lets the worker go on serving:
-- the request that is to start the next worker's job may have come to this one.
-- @tparam string name of the place
function _M:wait(name)
    if not self.dict then
        return
    end
    self.dict:incr(name, 1, 0)
    while not arrived(self, name) do
        if self.can_yield then
            ngx.sleep(PAUSE_YIELD)
        else
            C.moonlap_barrier_usleep(PAUSE)
        end
    end
end


--- Goes on working until all have come here.
-- @tparam string name of the place
-- @tparam function work called again and again
function _M:keep_busy(name, work)
    if not self.dict then
        return
    end
    self.dict:incr(name, 1, 0)
    while not arrived(self, name) do
        work()
    end
end


return _M

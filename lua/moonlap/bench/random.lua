--- The harness's own draws: the user's math.random is not ours to draw from.
-- @module moonlap.bench.random
jit.off(true, true)

local _M = {}

local floor = math.floor


--- A generator (D. H. Lehmer's) of numbers from 0 to 1.
-- @tparam number seed a whole number; equal ones give equal draws
-- @treturn function() number
function _M.new(seed)
    local x = floor(seed) % 2147483646 + 1
    return function()
        x = x * 48271 % 2147483647
        return x / 2147483647
    end
end


return _M

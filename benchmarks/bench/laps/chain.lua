-- Bodies of known cost: each call adds `steps` times to one number, and no addition can
-- begin before the last has ended, also not the first of the next call.
local moonlap = require "moonlap"
local ffi = require "ffi"

local UNROLLED = 10

moonlap.bench {
    name = "chain",
    params = { steps = { 2, 10, 100, 1000, 10000 } },
    setup = function(params)
        local turns = math.max(1, params.steps / UNROLLED)
        local additions = ("v = v + 1.5 "):rep(params.steps / turns)
        return assert(load(([[
            local number = ...
            return function()
                local v = number[0]
                for _ = 1, %d do %s end
                number[0] = v
            end]]):format(turns, additions)))(ffi.new("double[1]"))
    end,
    run = function(chain)
        chain()
    end,
}

moonlap.bench("empty", function() end)

--- Moonlap's Lua library.
--
--     local moonlap = require "moonlap"
--     moonlap.bench("concat", function() return table.concat({"a", "b"}) end)
--
-- `moonlap bench FILE` runs what a file declares with @{bench}. The submodules
-- (`moonlap.histogram`, `moonlap.clock`, …) are loaded when first used, and also work by
-- themselves, in any LuaJIT program.
-- @module moonlap
local registry = require "moonlap.bench.registry"
local keep = require "moonlap.keep"

local _M = {
    _VERSION = "0.1.0",
    bench = registry.bench,
    keep = keep,
}

local SUBMODULES = {
    clock = true, histogram = true, stopwatch = true, ctx = true, workers = true,
    prometheus = true, uv = true,
}


return setmetatable(_M, {
    __index = function(self, name)
        if SUBMODULES[name] then
            local module = require("moonlap." .. name)
            self[name] = module
            return module
        end
    end,
})

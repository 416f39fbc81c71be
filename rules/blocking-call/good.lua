local moonlap = require "moonlap"

local f = io.open("/proc/self/comm")
local kept = f:read("*a")
f:close()

moonlap.bench("file", function()
    moonlap.keep(kept)
end)

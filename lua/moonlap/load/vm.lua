--- LuaJIT as the engine wants it: how far it compiles, and when it collects.
-- @module moonlap.load.vm
local _M = {}

-- Garbage before the next collection, in KiB: what a processor's second cache holds. With more,
-- each new text takes memory that is in no cache. With less, marking what is alive counts.
local GARBAGE = 1024


--- One trace goes from a response through the script to the next request: that takes more
-- instructions, constants and exits than LuaJIT allows by default.
function _M.allow_long_traces()
    require("jit.opt").start("maxrecord=20000", "maxirconst=4000", "maxsnap=4000", "maxtrace=4000",
        "maxmcode=32768", "sizemcode=64", "maxside=1000")
end


--- To be called when all that lives as long as the run is there.
function _M.relax_collector()
    collectgarbage()
    collectgarbage("setpause", math.max(150, 100 + GARBAGE * 100 / collectgarbage "count"))
end


return _M

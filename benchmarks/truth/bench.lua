-- For moonlap: one call of the workload named in WORK, by SHARE slower. The driver writes a copy of
-- this file for each side.
-- luacheck: read_globals SHARE
local moonlap = require "moonlap"
local works = dofile(os.getenv("TRUTH_DIR") .. "/work.lua")
local work, how = os.getenv("TRUTH_WORK"), os.getenv("TRUTH_HOW")

moonlap.bench {
    name = work,
    setup = function() return works.slowed(work, SHARE, how) end,
    run = function(slowed) return slowed() end,
}

-- One call does UNITS units of the workload that the environment names. The driver writes a
-- copy of this file for each side, with its number.
-- luacheck: read_globals UNITS
local moonlap = require "moonlap"
local works = dofile(os.getenv("COVERAGE_DIR") .. "/work.lua")
local work = os.getenv("COVERAGE_WORK")
local run = works[work]

moonlap.bench(work, function()
    return run(UNITS)
end)

-- For moonlap: one call of the workload named in WORK, with SLOWER (1.02 is 2 %) times the work.
-- The driver writes a copy of this file for each side.
-- luacheck: read_globals SLOWER
local moonlap = require "moonlap"
local works = dofile(os.getenv("TRUTH_DIR") .. "/work.lua")
local work = os.getenv("TRUTH_WORK")
local n = math.floor(works.base[work] * SLOWER + 0.5)
local run = works[work]

moonlap.bench(work, function()
    return run(n)
end)

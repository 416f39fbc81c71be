-- The tutorial's way of timing ngx.re.find, before and after moonlap's own, in one worker.
--
-- moonlap: --runtime nginx
local moonlap = require "moonlap"

local CALLS = 1e7

local function target()
    ngx.re.find("hello, world.", [[\w+\.]], "jo")
end

local function nothing() end

-- By hand, as the tutorial has it: warm up, collect, and time 1e7 calls by nginx's own
-- clock. The CPU time beside it tells how long the worker waited for others meanwhile.
local function by_hand(what, func)
    for _ = 1, 100 do
        func()
    end
    collectgarbage()
    local cpu = os.clock()
    ngx.update_time()
    local begin = ngx.now()
    for _ = 1, CALLS do
        func()
    end
    ngx.update_time()
    local wall = ngx.now() - begin
    cpu = os.clock() - cpu
    io.stdout:write(string.format("%s %.3f %.3f\n", what, wall / CALLS * 1e9, cpu / CALLS * 1e9))
    io.stdout:flush()
end

moonlap.bench {
    name = "re_find",
    setup = function()
        by_hand("hand", target)
        by_hand("loop", nothing)
    end,
    run = target,
    teardown = function()
        by_hand("hand", target)
    end,
}

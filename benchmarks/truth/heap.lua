-- What 2 % more of `words` costs, by what else is alive in the heap: luajit heap.lua
-- Each figure is the median of five pairs of fresh processes.
local works = dofile("work.lua")
local share, strings = tonumber(arg[1]), tonumber(arg[2])

if share then
    local alive = {}
    for i = 1, strings do
        alive[i] = i .. ("x"):rep(100)
    end
    local run, best = works.slowed("words", share, "more"), 1 / 0
    for batch = 1, 6 do -- the first one warms up
        local start = os.clock()
        for _ = 1, 400 do
            run()
        end
        best = batch > 1 and math.min(best, os.clock() - start) or best
        if batch == 1 then
            collectgarbage()
        end
    end
    print(best, #alive)
    return
end

local function time(more, count)
    local out = io.popen(("luajit heap.lua %g %d"):format(more, count))
    local seconds = out:read("*n")
    out:close()
    return seconds
end

for count = 400, 595, 15 do
    local ratios = {}
    for i = 1, 5 do
        local base = time(0, count)
        ratios[i] = time(0.02, count) / base
    end
    table.sort(ratios)
    print(count, ("%.3f"):format(ratios[3]))
end

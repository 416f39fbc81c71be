-- startup MODULE...: what requiring each takes, in 21 interleaved processes; `- MODULE`: here.
-- Prints the median (and the extremes) of the CPU time, and what the Lua heap grew by.
if arg[1] == "-" then
    collectgarbage()
    local heap, start = collectgarbage "count", os.clock()
    require(arg[2])
    local seconds = os.clock() - start
    collectgarbage()
    print(seconds, collectgarbage "count" - heap)
    return
end

local ROUNDS = 21
local times, heaps = {}, {}
for _ = 1, ROUNDS do
    for _, module in ipairs(arg) do
        local pipe = assert(io.popen(("luajit %s - %s"):format(arg[0], module)))
        local seconds, heap = pipe:read("*n", "*n")
        pipe:close()
        times[module], heaps[module] = times[module] or {}, heaps[module] or {}
        table.insert(times[module], (assert(seconds, module .. " cannot be loaded")))
        table.insert(heaps[module], heap)
    end
end
for _, module in ipairs(arg) do
    table.sort(times[module])
    table.sort(heaps[module])
    local middle = (ROUNDS + 1) / 2
    print(("%-12s %5.2f ms (%.2f to %.2f)  %4.0f KiB"):format(module, times[module][middle] * 1e3,
        times[module][1] * 1e3, times[module][ROUNDS] * 1e3, heaps[module][middle]))
end

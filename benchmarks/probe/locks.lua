-- What does timing locks cost a worker, and does `moonlap watch --locks` tell how many it takes?
--
--     moonlap run --http-conf 'lua_shared_dict counts 1m;' benchmarks/probe/locks.lua \
--         bin/moonlap [PAIRS] [BUDGET]
--
-- A worker counts in a dictionary, some times a millisecond or all the while, and has itself
-- watched, with --locks and without, interleaved. What it counted meanwhile, and the CPU time it
-- used, it reads itself: what each pair differs by is what timing cost it.
local program, pairs_, budget = arg[1] or "moonlap", tonumber(arg[2]) or 8, arg[3] or "1%"
local ffi = require "ffi"
local json = require "cjson.safe"

ffi.cdef "int clock_gettime(int clock, int64_t *time);"
local time = ffi.new("int64_t[2]")
local function clock(which)
    ffi.C.clock_gettime(which, time)
    return tonumber(time[0]) + tonumber(time[1]) / 1e9
end
local MONOTONIC, CPU = 1, 2

local counts = ngx.shared.counts
local function count(n)
    for _ = 1, n do counts:incr("n", 1, 0) end
    return n
end

-- slice counts while it is watched; it returns locks a second, CPU seconds for each, and what was
-- told of locks.
local function slice(turn, flags)
    os.remove("watched")
    os.execute(("(%s watch --pid %d --once --every 4s --json %s >out 2>said;"):format(program,
        ngx.worker.pid(), flags) .. " mv out watched) &")
    local wall, cpu, taken = clock(MONOTONIC), clock(CPU), 0
    local file
    repeat
        for _ = 1, 20 do taken = taken + turn() end
        file = io.open("watched")
    until file
    wall, cpu = clock(MONOTONIC) - wall, clock(CPU) - cpu
    local seen = json.decode(file:read("*a"))
    file:close()
    assert(seen, io.open("said"):read("*a"))
    local locks = seen.masters[1].evidence.locks
    return { rate = taken / wall, each = cpu / taken, wall = wall, locks = locks }
end

local function median(list)
    table.sort(list)
    return (list[math.floor((#list + 1) / 2)] + list[math.ceil((#list + 1) / 2)]) / 2
end

-- interval holds the median with at least 95 % (of 6 pairs and more): order statistics.
local function interval(list)
    table.sort(list)
    local p, k = 0.5 ^ #list, 0
    local sum = p
    while sum <= 0.025 do
        k = k + 1
        p = p * (#list - k + 1) / k
        sum = sum + p
    end
    return list[math.max(k, 1)], list[#list + 1 - math.max(k, 1)]
end

print("| counts | locks/s | told in bursts | timed, of the interval | cost told, at most | " ..
    "cost (95 %), of a processor |")
print("| --- | --- | --- | --- | --- | --- |")
for _, pace in ipairs({
    { "1 a millisecond", function() ngx.sleep(0.001) return count(1) end },
    { "50 a millisecond", function() ngx.sleep(0.001) return count(50) end },
    { "all the while", function() return count(10000) end },
}) do
    local costs, rates, told, probed, most = {}, {}, {}, {}, {}
    slice(pace[2], "") -- to warm up
    for i = 1, pairs_ do
        local with, without
        if i % 2 == 0 then with = slice(pace[2], "--locks --budget " .. budget) end
        without = slice(pace[2], "")
        with = with or slice(pace[2], "--locks --budget " .. budget)
        costs[i] = 100 * (with.each - without.each) * with.rate
        rates[i] = without.rate
        probed[i] = 100 * with.locks.probed_ns / with.locks.elapsed_ns
        most[i] = 100 * with.locks.cost_ns / with.locks.elapsed_ns
        for _, zone in ipairs(with.locks.zones) do
            if zone.zone == "counts" then told[i] = zone.taken_per_second end
        end
        told[i] = told[i] or 0
    end
    local low, high = interval(costs)
    print(("| %s | %.0f | %.0f | %.1f %% | %.2f %% | %.2f %% (%.2f–%.2f) |"):format(pace[1],
        median(rates), median(told), median(probed), median(most), median(costs), low, high))
end

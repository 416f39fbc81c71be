-- Does `moonlap profile --allocations` find the shares of bytes that are known, and how many?
--
--     moonlap run benchmarks/probe/allocations.lua bin/moonlap [SECONDS]
--
-- A worker has itself profiled while three lines allocate bytes as 6:3:1, in tables, strings and C
-- data, compiled and interpreted. How many a round has it reads off LuaJIT's own count, with the
-- collector stopped; how many rounds there were meanwhile it counts. Between rounds it computes,
-- little or much: what the probe costs is most of its CPU time in a window, or a small part.
-- Afterwards the same count tells whether a round, as it was compiled, has as many bytes as its
-- lines by themselves.
local program, seconds = arg[1] or "moonlap", tonumber(arg[2]) or 10
local ffi = require "ffi"
local json = require "cjson.safe"

local source = [[
local keep, number = nil, 1e9
local kind = require("ffi").typeof("struct { char bytes[40]; }")
return { function(n)
    for i = 1, n do
        keep = { i, i, i, i }
    end end, function(n)
    for i = 1, n do
        number = number + 1 keep = "the string " .. number
    end end, function(n)
    for i = 1, n do
        keep = kind()
    end end }
]]
local lines, names = { 5, 8, 11 }, { "tables", "strings", "C data" }

-- So many strings that their table keeps its size: else LuaJIT makes it smaller when it collects,
-- and larger again, which is a fifth of all bytes here, and counts.
local kept = {}
for i = 1, 40000 do kept[i] = "kept " .. i end
assert(#kept == 40000)

local function compute(n)
    local x = 0
    for i = 1, n do x = (x * 31 + i) % 1000003 end
    return x
end

ffi.cdef "int clock_gettime(int clock, int64_t *time);"
local time = ffi.new("int64_t[2]")
local function now()
    ffi.C.clock_gettime(0, time) -- CLOCK_REALTIME
    return tonumber(time[0]) + tonumber(time[1]) / 1e9
end

-- sizes returns how many bytes a call of each function allocates. The median leaves out when the
-- table of strings grows.
local function sizes(list)
    local all = {}
    collectgarbage("stop")
    for i, f in ipairs(list) do
        local each = {}
        for k = 1, 101 do
            local before = collectgarbage("count")
            f(100)
            each[k] = (collectgarbage("count") - before) * 1024 / 100
        end
        table.sort(each)
        all[i] = each[51]
    end
    collectgarbage("restart")
    return all
end

-- inPlace returns how many bytes a call of work allocates, by LuaJIT's count: of the loop that was
-- looked at, in the process and in the traces that were.
local function inPlace(work)
    local each = {}
    for k = 1, 21 do
        collectgarbage()
        collectgarbage("stop")
        local before = collectgarbage("count")
        for _ = 1, 100 do work() end
        each[k] = (collectgarbage("count") - before) * 1024 / 100
        collectgarbage("restart")
    end
    table.sort(each)
    return each[11]
end

local function wilson(p, n)
    local z = 1.96
    local middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    local half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return 100 * (middle - half), 100 * (middle + half)
end

-- watched has the worker profiled while work runs, and returns what was seen, and how often work
-- has run a second in the time that was looked at, counted by so many at once: what counts and
-- takes the time allocates, too.
local function watched(budget, work, often)
    local out = os.tmpname()
    local command = "%s profile --allocations --budget %s --pid %d --duration %ds --out %s.json"
    command = command:format(program, budget, ngx.worker.pid(), seconds, out) .. " >/dev/null"
    local pipe = io.popen(command .. "; mv " .. out .. ".json " .. out)
    local times, file = { now() }, nil
    os.remove(out)
    while not file do
        for _ = 1, 10 do
            for _ = 1, often do work() end
            times[#times + 1] = now()
        end
        file = io.open(out)
    end
    local seen = json.decode(file:read("*a"))
    file:close()
    pipe:close()
    os.remove(out)
    local clock, fraction = seen.evidence.allocations.began:match("T(%d+:%d+:%d+)(%.?%d*)")
    local h, m, s = clock:match("(%d+):(%d+):(%d+)")
    local began = h * 3600 + m * 60 + s + (tonumber(fraction) or 0)
    local hour = 3600
    local count, elapsed = 0, seen.evidence.allocations.elapsed_ns / 1e9
    for _, at in ipairs(times) do
        local since = (at - began) % hour -- of any day
        if since < elapsed then count = count + often end
    end
    return seen, count / elapsed
end

-- byLine is how many bytes each line has.
local function byLine(stacks)
    local bytes, all = {}, 0
    for _, stack in ipairs(stacks) do
        for i = #stack.frames, 1, -1 do
            local line = stack.frames[i].line
            if stack.frames[i].kind == "lua" then
                bytes[line] = (bytes[line] or 0) + stack.count
                break
            end
        end
        all = all + stack.count
    end
    return bytes, all
end

local function measure(compile, between, budget)
    local file = os.tmpname()
    local f = assert(io.open(file, "w"))
    f:write(source)
    f:close()
    local list = assert(loadfile(file))()
    if not compile then
        for _, one in ipairs(list) do jit.off(one) end
    end
    local counts, parts, round = {}, {}, 0
    for i, size in ipairs(sizes(list)) do
        counts[i] = math.floor(({ 6, 3, 1 })[i] * 100 / size + 0.5)
        parts[i] = counts[i] * size
        round = round + parts[i]
    end
    local function work()
        for i = 1, 3 do list[i](counts[i]) end
        compute(between)
    end
    local seen, rounds = watched(budget, work, 100)
    os.remove(file)
    local there = inPlace(work)
    if math.abs(there / round - 1) > 0.001 then
        print(("a round has %d bytes, not %d as its lines by themselves"):format(there, round))
        round = there
    end

    local a = seen.evidence.allocations
    local bytes, all = byLine(seen.stacks)
    local row = {}
    for i, line in ipairs(lines) do
        local p, right = (bytes[line] or 0) / all, parts[i] / round
        local low, high = wilson(p, a.effective_samples)
        row[i] = ("%s %.1f, %.1f (%.1f–%.1f)"):format(names[i], 100 * right, 100 * p, low, high)
    end
    local second = a.elapsed_ns / 1e9 * 1e6
    local columns = {
        (compile and "compiled, " or "interpreted, ") .. between,
        budget, ("%.1f %%"):format(100 * a.cost_ns / a.elapsed_ns),
        ("%.1f %%"):format(100 * a.probed_ns / a.elapsed_ns),
        ("%.0f %%"):format(100 * a.cost_in_probed_ns / a.cpu_in_probed_ns),
        ("%d"):format(a.samples),
        table.concat(row, " · "), ("%.2f"):format(rounds * round / 1e6),
        ("%.2f (%.2f–%.2f)"):format(
            a.bytes / second, a.bytes_low / second, a.bytes_high / second),
    }
    print("| " .. table.concat(columns, " | ") .. " |")
end

print("| Lua, loops between rounds | budget | cost | probed | cost in windows | samples "
    .. "| shares: by LuaJIT's count, by the samples (95 %) | MB/s by its count "
    .. "| by the samples (95 %) |")
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
for _, budget in ipairs { "1%", "5%", "100%" } do
    for _, between in ipairs { 100, 10000 } do
        measure(true, between, budget)
        measure(false, between, budget)
    end
end

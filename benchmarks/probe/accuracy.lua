-- Does `moonlap profile` find the shares of work that are known?
--
--     moonlap run benchmarks/probe/accuracy.lua bin/moonlap [SECONDS]
--
-- A worker has itself profiled while it computes: `heavy` does three times the work of `light`,
-- on lines that are known, compiled and interpreted. Printed are heavy's share of their CPU time
-- by the worker's own clock, its share of the looks with a 95 % interval (Wilson's), how many looks
-- named a line of the work, and how many stacks are whole.
local program, seconds = arg[1] or "moonlap", tonumber(arg[2]) or 20
local json = require "cjson.safe"

local function heavy(n)
    local x = 0
    for i = 1, n do
        x = (x * 31 + i) % 1000003
    end
    return x
end

local function light(n)
    local x = 0
    for i = 1, n do
        x = (x * 31 + i) % 1000003
    end
    return x
end

-- The lines from the loop's head to its end; a look may hit any of them.
local lines = { heavy = { 14, 16 }, light = { 22, 24 } }

local function wilson(k, n)
    local z, p = 1.96, k / n
    local middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    local half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return middle - half, middle + half
end

local function measure(title)
    local out = os.tmpname()
    local command = "%s profile --pid %d --duration %ds --hz 200 --format json --out %s >/dev/null"
    command = command:format(program, ngx.worker.pid(), seconds, out)
    local pipe = io.popen(command .. "; mv " .. out .. " " .. out .. ".done")
    local f
    local clock, spent = os.clock, { heavy = 0, light = 0 } -- CPU time: the machine may be busy
    repeat
        local a = clock()
        heavy(3e6)
        local b = clock()
        light(1e6)
        spent.heavy = spent.heavy + b - a
        spent.light = spent.light + clock() - b
        f = io.open(out .. ".done")
    until f
    local profile = json.decode(f:read("*a"))
    f:close()
    pipe:close()
    os.remove(out .. ".done")

    local count, all, exact, whole, compiled = { heavy = 0, light = 0 }, 0, 0, 0, 0
    for _, stack in ipairs(profile.stacks) do
        local frames = stack.frames
        for i = #frames, 1, -1 do
            local frame = frames[i]
            local range = frame.kind == "lua" and lines[frame["function"]]
            if range then
                local name, n, line = frame["function"], stack.count, frame.line or 0
                count[name], all = count[name] + n, all + n
                if line >= range[1] and line <= range[2] then exact = exact + n end
                if frames[1]["function"] == "_start" then whole = whole + n end
                if frame.compiled then compiled = compiled + n end
                break
            end
        end
    end
    local low, high = wilson(count.heavy, all)
    local function percent(n) return ("%.1f %%"):format(100 * n / all) end
    local right = 100 * spent.heavy / (spent.heavy + spent.light)
    print(("| %s | %.1f %% | %d | %s (%.1f–%.1f) | %s | %s | %s |"):format(
        title, right, all, percent(count.heavy), 100 * low, 100 * high,
        percent(exact), percent(whole), percent(compiled)))
end

print("| Lua | heavy has | looks | its share of them | exact line | whole stack | compiled |")
print("| --- | --- | --- | --- | --- | --- | --- |")
measure("compiled")
jit.off(heavy)
jit.off(light)
measure("interpreted")

-- Does `moonlap profile` find the shares of work that are known, and the lines?
--
--     moonlap run benchmarks/probe/accuracy.lua bin/moonlap [SECONDS [BY]]
--
-- A worker has itself profiled while it computes in functions whose lines are known, interleaved.
-- Their CPU time it reads off its own clock: one with three times the work of another, and ten with
-- 1 to 10 parts; compiled and interpreted, with arithmetic alone and with C functions of LuaJIT
-- that the loop calls. Printed are each function's share by the clock and by samples, with a 95 %
-- interval (Wilson's), and how many samples name a line of a function's loop and have a whole
-- stack.
local program, seconds = arg[1] or "moonlap", tonumber(arg[2]) or 20
local by = arg[3] or "auto"
local json = require "cjson.safe"

-- Bodies of the loops, each on a line of its own: arithmetic, and calls of helpers.
local arithmetic = "x = (x * 31 + i) % 1000003"
local helpers = "t[i % 8] = s .. i % 1000 x = x + #t[i % 8]"

-- functions makes so many of them in a file, which the profiler reads their names from.
local function functions(count, body)
    local file = os.tmpname()
    local source, lines = {}, {}
    for n = 1, count do
        table.insert(source, ("local function part%d(n)"):format(n))
        table.insert(source, "local x, t, s = 0, {}, 'text '\nfor i = 1, n do")
        table.insert(source, body)
        table.insert(source, "end\nreturn x + #t\nend")
        lines["part" .. n] = { 7 * n - 4, 7 * n - 2 }
    end
    local names = {}
    for n = 1, count do names[n] = "part" .. n end
    table.insert(source, "return {" .. table.concat(names, ", ") .. "}")
    local f = assert(io.open(file, "w"))
    f:write(table.concat(source, "\n"))
    f:close()
    return assert(loadfile(file))(), lines, file
end

local function wilson(k, n)
    local z, p = 1.96, k / n
    local middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    local half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return middle - half, middle + half
end

-- profile has the worker profiled while work runs again and again, and returns what was seen.
local function profile(work)
    local out = os.tmpname()
    local command = "%s profile --pid %d --duration %ds --hz 199 --by %s --format json --out %s"
    command = command:format(program, ngx.worker.pid(), seconds, by, out) .. " >/dev/null"
    local pipe = io.popen(command .. "; mv " .. out .. " " .. out .. ".done")
    local f
    repeat
        work()
        f = io.open(out .. ".done")
    until f
    local seen = json.decode(f:read("*a"))
    f:close()
    pipe:close()
    os.remove(out .. ".done")
    return seen
end

local function percent(n, all) return ("%.1f %%"):format(100 * n / all) end

-- measure runs function n with parts[n] parts of work.
local function measure(title, parts, body, compile)
    local list, lines, file = functions(#parts, body)
    local clock, spent, units = os.clock, {}, body == helpers and 2e4 or 2e5
    for n = 1, #parts do
        spent[n] = 0
        if not compile then jit.off(list[n]) end
    end
    local seen = profile(function()
        for n = 1, #parts do
            local before = clock()
            list[n](parts[n] * units)
            spent[n] = spent[n] + clock() - before
        end
    end)
    os.remove(file)

    local count, all, exact, whole, compiled = {}, 0, 0, 0, 0
    for _, stack in ipairs(seen.stacks) do
        local frames = stack.frames
        for i = #frames, 1, -1 do
            local frame = frames[i]
            if frame.kind == "lua" then
                local name, n, line = frame["function"], stack.count, frame.line or 0
                local range = lines[name]
                if range then
                    count[name], all = (count[name] or 0) + n, all + n
                    if line >= range[1] and line <= range[2] then exact = exact + n end
                    if frames[1]["function"] == "_start" then whole = whole + n end
                    if frame.compiled then compiled = compiled + n end
                end
                break
            end
        end
    end
    local total = 0
    for n = 1, #parts do total = total + spent[n] end
    print(("\n%s: %d looks, line of the loop %s, whole stack %s, compiled %s\n"):format(
        title, all, percent(exact, all), percent(whole, all), percent(compiled, all)))
    print("| parts | by the clock | by the looks | 95 % | the clock is in it |")
    print("| --- | --- | --- | --- | --- |")
    for n = 1, #parts do
        local k, right = count["part" .. n] or 0, spent[n] / total
        local low, high = wilson(k, all)
        print(("| %d | %.1f %% | %s | %.1f–%.1f | %s |"):format(parts[n], 100 * right,
            percent(k, all), 100 * low, 100 * high,
            right >= low and right <= high and "yes" or "no"))
    end
end

local ten = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }
measure("3:1, compiled", { 3, 1 }, arithmetic, true)
measure("3:1, interpreted", { 3, 1 }, arithmetic, false)
measure("3:1, compiled, in C functions of LuaJIT", { 3, 1 }, helpers, true)
measure("3:1, interpreted, in C functions of LuaJIT", { 3, 1 }, helpers, false)
measure("ten parts, compiled", ten, arithmetic, true)
measure("ten parts, interpreted", ten, arithmetic, false)

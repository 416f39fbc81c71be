-- The workloads, and how one of them is made slower by a share. Every tool measures these.
local works = {}

-- Arithmetic: no allocation, one trace.
function works.sum(n)
    local x = 0
    for i = 1, n do
        x = x + i * i % 7
    end
    return x
end

-- Strings and tables: allocation, the collector. Each turn makes its own small table, since the
-- cost of a large one has steps where it grows.
function works.words(n)
    local text
    for i = 1, n do
        text = table.concat({ "word", i % 100, "and", i % 7 }, " ")
    end
    return text
end

-- A rare branch: which one the JIT records first is chance (LuaJIT issue 218).
function works.branch(n)
    local x = 0
    for _ = 1, n do
        if math.random() < 1 / 6 then
            x = x + math.sin(x)
        else
            x = x * 0.5
        end
    end
    return x
end

local base = { sum = 20000, words = 500, branch = 20000 }

-- Never compiled, so that what a turn takes does not hang on traces.
local function spin(turns)
    for _ = 1, turns do
    end
end
jit.off(spin)

-- How many turns of spin take as long as a call. Both are timed interleaved, since whatever else
-- the machine does slows both; the median of many ratios.
local function turns_a_call(run, n)
    local CALLS, GROUPS, TURNS = 10, 61, 100000
    for _ = 1, 300 do -- until traces are compiled
        run(n)
    end
    local ratios, clock = {}, os.clock
    for i = 1, GROUPS do
        local start = clock()
        for _ = 1, CALLS do
            run(n)
        end
        local middle = clock()
        spin(TURNS)
        ratios[i] = (middle - start) / CALLS / (clock() - middle) * TURNS
    end
    table.sort(ratios)
    return ratios[math.ceil(GROUPS / 2)]
end

-- A call of a workload that takes a share longer: by a spin after it ("spin"), or because it does
-- that share more turns ("more").
-- turns: those of a whole call, where they are known
function works.slowed(work, share, how, turns)
    local run, n = works[work], base[work]
    if how == "more" then
        n = math.floor(n * (1 + share) + 0.5)
        return function() return run(n) end
    end
    turns = (turns or turns_a_call(run, n)) * share
    return function()
        local x = run(n)
        spin(turns)
        return x
    end
end

-- turns_a_call, for a program that must not spend its time on it.
function works.turns(work)
    return turns_a_call(works[work], base[work])
end

return works

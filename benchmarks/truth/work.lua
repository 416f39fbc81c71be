-- The workloads, as functions of how much work a call does: a share more work is that share
-- slower. Every tool measures these.
local works = {}

-- Arithmetic: no allocation, one trace.
function works.sum(n)
    local x = 0
    for i = 1, n do
        x = x + i * i % 7
    end
    return x
end

-- Strings and tables: allocation, the collector. The strings are always the same and alive: whether
-- an earlier call's string is still there to be found makes a call cheaper, and hangs on how many
-- there were.
local words, known = { "some", "words", "that", "are", "joined" }, {}
function works.words(n)
    for i = 1, n do
        local text = table.concat({ words[i % 5 + 1], words[i % 3 + 1] }, " ")
        known[text] = true
    end
    return known
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

works.base = { sum = 20000, words = 500, branch = 20000 }

return works

-- Workloads that do a unit of work so many times: 21 units take 21/20 of what 20 take.
local works = {}

-- Arithmetic: no allocation.
function works.sum(units)
    local x = 0
    for _ = 1, units do
        for i = 1, 1000 do
            x = x + i * i % 7
        end
    end
    return x
end

-- A rare branch: which one the JIT records first is chance, so that processes settle on
-- different levels.
function works.branch(units)
    local x = 0
    for _ = 1, units do
        for _ = 1, 200 do
            if math.random() < 1 / 6 then
                x = x + math.sin(x)
            else
                x = x * 0.5
            end
        end
    end
    return x
end

-- Strings and tables: allocation, the collector.
function works.words(units)
    local length = 0
    for _ = 1, units do
        local t = {}
        for i = 1, 25 do
            t[i] = "word" .. i
        end
        length = length + #table.concat(t, " ")
    end
    return length
end

return works

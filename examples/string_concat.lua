-- Building a string from n pieces: `..` in a loop copies all that is there each time,
-- table.concat copies once. The first piece changes with every call, because LuaJIT keeps
-- one copy of equal strings and would find the last call's there.
local moonlap = require "moonlap"

local concat = table.concat

local function pieces(params)
    local list = {}
    for i = 1, params.n do
        list[i] = "piece " .. i
    end
    return list
end

moonlap.bench {
    name = "dots",
    params = {n = {2, 10, 100}},
    setup = pieces,
    run = function(list, i)
        list[1] = i
        local s = ""
        for k = 1, #list do
            s = s .. list[k]
        end
        return s
    end,
}

moonlap.bench {
    name = "table_concat",
    params = {n = {2, 10, 100}},
    setup = pieces,
    run = function(list, i)
        list[1] = i
        return concat(list)
    end,
    check = function(s, list)
        assert(#s > 7 * (#list - 1))
    end,
}

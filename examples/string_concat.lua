-- Building a string from n pieces: `..` in a loop copies all that is there each time,
-- table.concat copies once.
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
    run = function(list)
        local s = ""
        for i = 1, #list do
            s = s .. list[i]
        end
        return s
    end,
}

moonlap.bench {
    name = "table_concat",
    params = {n = {2, 10, 100}},
    setup = pieces,
    run = function(list)
        return concat(list)
    end,
    check = function(s, list)
        assert(#s > 7 * #list - 1)
    end,
}

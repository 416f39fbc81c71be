-- Filling an array: an empty table grows as it goes and is copied each time it does;
-- table.new makes room once.
local moonlap = require "moonlap"

local new_table = require "table.new"

local function fill(t, n)
    for i = 1, n do
        t[i] = i
    end
    return t
end

moonlap.bench {
    name = "empty_table",
    params = {n = {10, 100, 1000}},
    run = function(params)
        return fill({}, params.n)
    end,
}

moonlap.bench {
    name = "table_new",
    params = {n = {10, 100, 1000}},
    run = function(params)
        return fill(new_table(params.n, 0), params.n)
    end,
    check = function(t, params)
        assert(#t == params.n)
    end,
}

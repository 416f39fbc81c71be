-- A shared dict under contention: 20 sets and 20 gets a request, as in the talk that this
-- project began with, and get_keys, which holds the lock while it copies every key.
-- Every worker goes through the same lock: see how the time grows with their number.
--
-- moonlap: --workers 2 --http-conf 'lua_shared_dict moonlap_example 10m;'
local moonlap = require "moonlap"

local function filled(params)
    local dict = ngx.shared.moonlap_example
    for i = 1, params.keys do
        dict:set("key " .. i, i)
    end
    return dict
end

local names = {}
for i = 1, 20 do
    names[i] = "key " .. i
end

moonlap.bench {
    name = "set20_get20",
    params = {keys = {1000}},
    setup = filled,
    run = function(dict)
        local sum = 0
        for i = 1, 20 do
            dict:set(names[i], i)
        end
        for i = 1, 20 do
            sum = sum + dict:get(names[i])
        end
        return sum
    end,
    check = function(sum)
        assert(sum == 210)
    end,
}

moonlap.bench {
    name = "get_keys",
    params = {keys = {1000}},
    setup = filled,
    run = function(dict)
        return dict:get_keys(0)
    end,
    check = function(keys)
        assert(#keys >= 1000)
    end,
}

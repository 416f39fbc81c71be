-- A small list made anew in every call, and the same list filled again and again.
local moonlap = require "moonlap"

local function fill(list, from)
    for k = 1, 8 do
        list[k] = from + k
    end
    return list
end

moonlap.bench("new_list", function(_, i)
    return fill({0, 0, 0, 0, 0, 0, 0, 0}, i)
end)

moonlap.bench {
    name = "reused_list",
    setup = function()
        return {}
    end,
    run = function(list, i)
        return fill(list, i)
    end,
}

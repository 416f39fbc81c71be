local moonlap = require "moonlap"

local function parse(i)
    if i > 0 then
        return nil, "not a number"
    end
    return i
end

moonlap.bench("refuse", function(_, i)
    return parse(i) ~= nil
end)

local moonlap = require "moonlap"

local function parse(i)
    if i > 0 then
        error("not a number")
    end
    return i
end

moonlap.bench("refuse", function(_, i)
    return (pcall(parse, i))
end)

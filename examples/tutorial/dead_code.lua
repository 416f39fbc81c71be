-- Code whose work the JIT removes, because nothing uses it, and the same work kept alive.
local moonlap = require "moonlap"

moonlap.bench("dropped", function(_, i)
    local root = math.sqrt(i) -- luacheck: ignore 211
end)

moonlap.bench("kept", function(_, i)
    moonlap.keep(math.sqrt(i))
end)

moonlap.bench("returned", function(_, i)
    return math.sqrt(i)
end)

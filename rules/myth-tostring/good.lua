local moonlap = require "moonlap"

moonlap.bench("concat", function(_, i)
    return "n" .. i
end)

local moonlap = require "moonlap"

moonlap.bench("remainder", function(_, i)
    local sum = 0
    for k = 1, 10 do
        sum = sum + (i + k) % 7
    end
    moonlap.keep(sum)
end)

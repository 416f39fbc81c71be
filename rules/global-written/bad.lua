local moonlap = require "moonlap"

moonlap.bench("write", function()
    counter_of_requests = 4711
    moonlap.keep(counter_of_requests)
end)

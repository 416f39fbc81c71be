local moonlap = require "moonlap"

local text = "alpha,beta,gamma,delta"

moonlap.bench("split", function()
    local count = 0
    for word in text:gmatch("[^,]+") do
        count = count + #word
    end
    moonlap.keep(count)
end)

-- A target that yields: while it waits, nginx serves others. It stands for a cosocket's round
-- trip to a database or an upstream.
local moonlap = require "moonlap"

moonlap.bench("wait", function()
    ngx.sleep(0.002)
end)

-- moonlap: --phase content
local moonlap = require "moonlap"

local name, id = "alice", 4711

moonlap.bench("log", function()
    ngx.log(ngx.DEBUG, "user ", name, " has id ", id)
end)

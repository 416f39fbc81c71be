-- moonlap: --phase content
local moonlap = require "moonlap"

local name, id = "alice", 0

moonlap.bench("log", function()
    id = id + 1 -- or LuaJIT would join the text once for all calls
    ngx.log(ngx.DEBUG, "user " .. name .. " has id " .. id)
end)

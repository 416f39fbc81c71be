-- moonlap: --http-conf 'lua_shared_dict lint 1m;'
local moonlap = require "moonlap"

local dict = ngx.shared.lint

moonlap.bench("count", function()
    dict:incr("hits", 1, 0)
end)

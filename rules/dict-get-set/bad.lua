-- moonlap: --http-conf 'lua_shared_dict lint 1m;'
local moonlap = require "moonlap"

local dict = ngx.shared.lint

moonlap.bench("count", function()
    local n = dict:get("hits") or 0
    dict:set("hits", n + 1)
end)

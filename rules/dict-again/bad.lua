-- moonlap: --http-conf 'lua_shared_dict lint 1m;'
local moonlap = require "moonlap"

local dict = ngx.shared.lint
dict:set("limit", 100)

moonlap.bench("limit", function()
    if dict:get("limit") then
        moonlap.keep(dict:get("limit"))
    end
end)

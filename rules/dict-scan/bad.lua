-- moonlap: --http-conf 'lua_shared_dict lint 1m;'
local moonlap = require "moonlap"

local dict = ngx.shared.lint
for i = 1, 1000 do
    dict:set("key" .. i, i)
end

moonlap.bench("dict", function()
    moonlap.keep(dict:get_keys(0))
end)

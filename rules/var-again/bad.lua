-- moonlap: --phase content
local moonlap = require "moonlap"

moonlap.bench("var", function()
    moonlap.keep(ngx.var.uri)
    moonlap.keep(ngx.var.uri)
    moonlap.keep(ngx.var.uri)
end)

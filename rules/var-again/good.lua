-- moonlap: --phase content
local moonlap = require "moonlap"

moonlap.bench("var", function()
    local uri = ngx.var.uri
    moonlap.keep(uri)
    moonlap.keep(uri)
    moonlap.keep(uri)
end)

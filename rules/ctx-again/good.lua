-- moonlap: --phase content
local moonlap = require "moonlap"

moonlap.bench("ctx", function()
    local ctx = ngx.ctx
    ctx.a = 1
    ctx.b = 2
    ctx.c = 3
    moonlap.keep(ctx.a + ctx.b + ctx.c)
end)

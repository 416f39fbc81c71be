-- moonlap: --phase content
local moonlap = require "moonlap"

moonlap.bench("ctx", function()
    ngx.ctx.a = 1
    ngx.ctx.b = 2
    ngx.ctx.c = 3
    moonlap.keep(ngx.ctx.a + ngx.ctx.b + ngx.ctx.c)
end)

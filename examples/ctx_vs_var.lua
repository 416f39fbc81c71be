-- Where should a request keep its data? ngx.ctx is a Lua table; ngx.var goes through
-- nginx's variables, and copies each string both ways.
--
-- moonlap: --phase content --http-conf 'map "" $moonlap_example { default ""; }'
local moonlap = require "moonlap"

local ngx = ngx

moonlap.bench {
    name = "ctx_write_read",
    run = function()
        ngx.ctx.example = "a value"
        return ngx.ctx.example
    end,
    check = function(value)
        assert(value == "a value")
    end,
}

moonlap.bench {
    name = "var_write_read",
    run = function()
        ngx.var.moonlap_example = "a value"
        return ngx.var.moonlap_example
    end,
    check = function(value)
        assert(value == "a value")
    end,
}

moonlap.bench {
    name = "ctx_local_write_read", -- the table fetched once a phase
    setup = function()
        return ngx.ctx
    end,
    run = function(ctx)
        ctx.example = "a value"
        return ctx.example
    end,
}

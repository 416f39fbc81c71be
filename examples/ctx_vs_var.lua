-- Where should a request keep its data? ngx.ctx is a Lua table; ngx.var goes through
-- nginx's variables, and copies each string both ways.
--
-- The second map is there because nginx lets Lua assign only to variables that something
-- in the configuration reads.
--
-- moonlap: --phase content
-- moonlap: --http-conf 'map "" $moonlap_example { default ""; }'
-- moonlap: --http-conf 'map $moonlap_example $moonlap_reader { default ""; }'
local moonlap = require "moonlap"

local ngx = ngx
local values = {"a value", "another"}

moonlap.bench {
    name = "ctx_write_read",
    run = function(_, i)
        ngx.ctx.example = values[i % 2 + 1]
        return ngx.ctx.example
    end,
    check = function(value)
        assert(value == values[1] or value == values[2])
    end,
}

moonlap.bench {
    name = "var_write_read",
    run = function(_, i)
        ngx.var.moonlap_example = values[i % 2 + 1]
        return ngx.var.moonlap_example
    end,
    check = function(value)
        assert(value == values[1] or value == values[2])
    end,
}

moonlap.bench {
    name = "ctx_local_write_read", -- the table fetched once a phase
    setup = function()
        return ngx.ctx
    end,
    run = function(ctx, i)
        ctx.example = values[i % 2 + 1]
        return ctx.example
    end,
}

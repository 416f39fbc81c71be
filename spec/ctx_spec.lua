local nginx = require "spec.support.nginx"

local HTTP = [[
    init_by_lua_block {
        ctx = require "moonlap.ctx"
        stopwatch = require("moonlap.stopwatch").new()
        kept = setmetatable({}, { __mode = "k" })
    }
]]

local SERVER = [[
    location = /plain {
        set $moonlap_ctx "";
        set $other "";
        content_by_lua_block { ngx.ctx.word = "lost"; ngx.exec("/word") }
    }
    location = /word {
        content_by_lua_block { ngx.print(tostring(ngx.ctx.word)) }
    }

    location = /stash {
        access_by_lua_block {
            ngx.ctx.word, ngx.ctx.span = "kept", stopwatch:start()
            ngx.ctx.itself = ngx.ctx
            assert(ctx.stash())
            ngx.exec("/apply")
        }
    }
    location = /apply {
        rewrite_by_lua_block {
            collectgarbage()
            collectgarbage()
            local table = assert(ctx.apply())
            assert(table == ngx.ctx and ngx.ctx.itself == table)
        }
        content_by_lua_block {
            local again, err = ctx.apply()
            ngx.print(ngx.ctx.word, " ", assert(stopwatch:stop(ngx.ctx.span)) > 0 and "timed",
                " ", tostring(again), " ", err)
        }
    }

    location = /named {
        content_by_lua_block {
            ngx.ctx.word = "named"
            assert(ctx.stash("other"))
            ngx.exec("/apply_named")
        }
    }
    location = /apply_named {
        content_by_lua_block {
            ngx.print(tostring(ctx.apply()), " ", assert(ctx.apply("other")).word)
        }
    }

    location = /twice {
        content_by_lua_block {
            ngx.ctx.hops = 1
            assert(ctx.stash())
            ngx.exec("/twice2")
        }
    }
    location = /twice2 {
        content_by_lua_block {
            assert(ctx.apply()).hops = 2
            assert(ctx.stash())
            ngx.exec("/twice3")
        }
    }
    location = /twice3 {
        content_by_lua_block { ngx.print(assert(ctx.apply()).hops) }
    }

    location = /fails {
        error_page 500 /failed;
        access_by_lua_block { ngx.ctx.word = "error"; assert(ctx.stash()); ngx.exit(500) }
    }
    location = /failed {
        content_by_lua_block { ngx.status = 200; ngx.print(assert(ctx.apply()).word) }
    }

    location = /log {
        content_by_lua_block { ngx.ctx.word = "log"; assert(ctx.stash()); ngx.exec("/logged") }
    }
    location = /logged {
        content_by_lua_block { ngx.print "ok" }
        log_by_lua_block { logged = assert(ctx.apply()).word }
    }
    location = /what_log {
        content_by_lua_block { ngx.print(tostring(logged)) }
    }

    location = /never {
        content_by_lua_block {
            kept[ngx.ctx] = true
            assert(ctx.stash())
            ngx.print "ok"
        }
    }
    location = /pending {
        content_by_lua_block {
            local pending, alive = ctx.pending(), 0
            collectgarbage()
            collectgarbage()
            for _ in pairs(kept) do alive = alive + 1 end
            ngx.print(pending, " ", alive)
        }
    }
    location = /memory {
        content_by_lua_block {
            collectgarbage()
            collectgarbage()
            ngx.print(collectgarbage "count")
        }
    }

    location = /slow {
        content_by_lua_block {
            ngx.ctx.word = "slow"
            assert(ctx.stash())
            ngx.exec("/slow_apply")
        }
    }
    location = /slow_apply {
        access_by_lua_block { ngx.sleep(0.3) }
        content_by_lua_block { ngx.print(assert(ctx.apply()).word) }
    }

    location = /forged {
        content_by_lua_block {
            local said = {}
            for _, token in ipairs { "", "1", "1:1", "999999:1", "-1:2", "x:y", "1:99999999" } do
                ngx.var.moonlap_ctx = token
                said[#said + 1] = tostring(ctx.apply())
            end
            ngx.print(table.concat(said, " "))
        }
    }
    location = /unset {
        content_by_lua_block {
            local token, err = ctx.stash("nowhere")
            ngx.print(tostring(token), " ", err)
        }
    }
]]

describe("ctx", function()
    it("survives what ngx.ctx alone does not, in a real nginx", function()
        nginx.with({ http = HTTP, server = SERVER }, function(server)
            assert.equal("nil", server:get "/plain")
            assert.equal("kept timed nil nothing is stashed under $moonlap_ctx",
                server:get "/stash")
            assert.equal("nil named", server:get "/named")
            assert.equal("2", server:get "/twice")
            assert.equal("error", server:get "/fails")
            assert.equal("ok", server:get "/log")
            assert.equal("log", server:get "/what_log")
            assert.equal("0 0", server:get "/pending")
        end)
    end)

    it("leaks nothing when the redirect never happens", function()
        nginx.with({ http = HTTP, server = SERVER }, function(server)
            for _ = 1, 300 do
                server:get "/never"
            end
            local before = tonumber(server:get "/memory")
            for _ = 1, 1500 do
                server:get "/never"
            end
            -- Each of 1500 tables would hold some 100 bytes.
            local grown = tonumber(server:get "/memory") - before
            assert.is_true(grown < 50, grown .. " kB after 1500 requests")
            assert.equal("0 0", server:get "/pending")
        end)
    end)

    it("keeps a slow request's table while others come and go", function()
        nginx.with({ http = HTTP, server = SERVER }, function(server)
            local slow = server:send "/slow"
            for _ = 1, 20 do
                server:get "/never"
                assert.equal("kept timed nil nothing is stashed under $moonlap_ctx",
                    server:get "/stash")
            end
            assert.equal("1 0", server:get "/pending")
            local status, body = slow()
            assert.same({ 200, "slow" }, { status, body })
            assert.equal("0 0", server:get "/pending")
        end)
    end)

    it("gives nothing for a token that it did not write", function()
        nginx.with({ http = HTTP, server = SERVER }, function(server)
            server:get "/never"
            assert.equal("nil nil nil nil nil nil nil", server:get "/forged")
            assert.matches("^nil cannot set $nowhere: ", server:get "/unset")
            assert.equal("0 0", server:get "/pending")
        end)
    end)

    it("says outside nginx what it needs", function()
        local ctx = require "moonlap.ctx"
        for _, f in ipairs { ctx.stash, ctx.apply } do
            local value, err = f()
            assert.is_nil(value)
            assert.matches("nginx's http subsystem", err)
        end
    end)
end)

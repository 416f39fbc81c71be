-- Runs the Lua and nginx code that the documentation shows, as it stands there.
local child = require "spec.support.child"
local nginx = require "spec.support.nginx"

--- All fenced blocks of one language on a page, in order.
local function blocks(page, language)
    local list = {}
    for text in child.read("docs/" .. page):gmatch("\n```" .. language .. "\n(.-\n)```\n") do
        list[#list + 1] = text
    end
    return list
end

describe("the pages' code", function()
    it("in the reference of the Lua modules works, one block after another", function()
        local lua = blocks("reference/lua-histogram.md", "lua")
        local conf = blocks("reference/lua-histogram.md", "nginx")
        assert.same({ 4, 1 }, { #lua, #conf })
        local server_conf = conf[1] .. "location = /page { content_by_lua_block {\n"
            .. table.concat(lua) .. "assert(ns >= 0 and not err and p99 >= 0 and h:count() == 1 "
            .. "and histogram.is(small))\n} }\n"
        nginx.with({ http = "lua_shared_dict moonlap 1m;", server = server_conf }, function(server)
            local page = server:get "/page"
            assert.matches('request_duration_seconds_count{service="api"} 1\n', page, 1, true)
            assert.equal("kept", server:get "/one")
        end)
    end)

    it("times requests in production, over two workers and across ngx.exec", function()
        local page = "how-to/time-requests-in-production.md"
        local lua, conf = blocks(page, "lua"), blocks(page, "nginx")
        assert.same({ 1, 2 }, { #lua, #conf })
        child.with_folder(function(folder)
            child.write(folder .. "/laps.lua", lua[1])
            local options = {
                workers = 2,
                lua_path = folder .. "/?.lua",
                http = conf[1],
                server = conf[2] .. [[
                    location = /late {
                        set $moonlap_ctx "";
                        access_by_lua_block {
                            require("laps").start()
                            ngx.sleep(0.3)
                            assert(require("moonlap.ctx").stash())
                            ngx.exec("/new")
                        }
                    }
                    # Keeps its worker busy, so that the next request goes to the other.
                    location = /busy {
                        content_by_lua_block {
                            ngx.update_time()
                            local start = ngx.now()
                            while ngx.now() < start + 0.2 do ngx.update_time() end
                            ngx.print(ngx.worker.id())
                        }
                    }
                ]],
            }
            nginx.with(options, function(server)
                local function counted(expected)
                    local text
                    for _ = 1, 300 do -- each worker publishes twice a second
                        text = server:get "/metrics"
                        local count = text:match '_count{service="api"} (%d+)\n'
                        if tonumber(count) == expected then
                            return text
                        end
                        nginx.wait(0.05)
                    end
                    error(("not %d requests in\n%s%s"):format(expected, text, server:log()))
                end
                counted(0)
                local sent, seen = 0, {}
                for _ = 1, 50 do
                    local busy = server:send "/busy"
                    for _, path in ipairs { "/old", "/new" } do
                        local id = server:get(path):match "^hello from worker (%d)\n$"
                        assert.is_string(id)
                        seen[id] = true
                        sent = sent + 1
                    end
                    busy()
                    if seen["0"] and seen["1"] then
                        break
                    end
                end
                assert.same({ ["0"] = true, ["1"] = true }, seen)
                server:get "/late"
                local text = counted(sent + 1)
                -- Its span began before the redirect, so that it is not among the short ones.
                local short = tonumber(text:match '_bucket{service="api",le="0.25"} (%d+)\n')
                assert.is_true(short <= sent, text)
                assert.equal("", server:log())
            end)
        end)
    end)
end)

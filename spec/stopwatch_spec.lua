local nginx = require "spec.support.nginx"
local stopwatch = require "moonlap.stopwatch"

describe("stopwatch", function()
    local time
    local function watch(opts)
        time = 0
        opts = opts or {}
        opts.now = function()
            return time
        end
        return stopwatch.new(opts)
    end

    it("times spans that overlap", function()
        local w = watch()
        local a = w:start()
        time = 100
        local b = w:start()
        time = 350
        assert.equal(350, w:stop(a))
        time = 1100
        assert.equal(1000, w:stop(b))
        assert.same({ 2, 350, 1000, 0 },
            { w.histogram:count(), w.histogram:min(), w.histogram:max(), w:open() })
    end)

    it("times across coroutines", function()
        local w = watch()
        local threads = {}
        for i = 1, 1000 do
            threads[i] = coroutine.wrap(function()
                local id = w:start()
                coroutine.yield()
                assert(w:stop(id))
            end)
            threads[i]()
        end
        time = 7
        assert.equal(1000, w:open())
        for i = 1000, 1, -1 do
            threads[i]()
        end
        assert.same({ 1000, 7, 7, 0 },
            { w.histogram:count(), w.histogram:min(), w.histogram:max(), w:open() })
    end)

    it("refuses ids that are not of an open span", function()
        local w = watch()
        local id = w:start()
        assert.truthy(w:stop(id))
        for _, wrong in ipairs { id, id + 1, 0, -1, 0 / 0, math.huge, 1.5, "1", {} } do
            local span, err = w:stop(wrong)
            assert.is_nil(span)
            assert.is_string(err)
        end
        local span, err = w:stop(nil)
        assert.is_nil(span)
        assert.matches("no start returned", err)
        assert.equal(1, w.histogram:count())
    end)

    it("abandons the oldest open spans when full", function()
        local w = watch { open = 4 }
        local ids = {}
        for i = 1, 6 do
            ids[i] = w:start()
        end
        assert.equal(2, w:abandoned())
        assert.equal(4, w:open())
        for i = 1, 6 do
            local span, err = w:stop(ids[i])
            assert.equal(i > 2, span ~= nil)
            assert.equal(i <= 2, err ~= nil and err:match "abandoned" ~= nil)
        end
        assert.equal(4, w.histogram:count())
    end)

    it("counts nothing when nothing was timed, and no span as negative", function()
        local w = watch()
        local h = w.histogram
        assert.same({ 0, 0, 0, 0, 0 }, { h:count(), h:min(), h:max(), h:mean(), h:percentile(99) })
        time = 100
        local id = w:start()
        time = 40 -- a clock that was set back
        assert.equal(0, w:stop(id))
        id = w:start()
        time = 1e300
        assert.equal(1e300, w:stop(id))
        assert.same({ 2, 0, 1e300 }, { h:count(), h:min(), h:max() })
    end)

    it("tells the spans so far while others are open", function()
        local w = watch()
        local first = w:start()
        w:start()
        assert.equal(0, w.histogram:count())
        time = 5
        assert.equal(5, w:stop(first))
        assert.same({ 1, 5, 1 }, { w.histogram:count(), w.histogram:percentile(50), w:open() })
    end)

    it("takes the cost of timing off", function()
        local w = stopwatch.new()
        assert.is_true(w.overhead_ns > 0)
        for _ = 1, 100 do
            assert.is_true(w:stop(w:start()) >= 0)
        end
        assert.equal(100, w.histogram:count())
        w:reset()
        assert.equal(0, w.histogram:count())
    end)

    it("refuses misuse at the caller's line", function()
        for _, open in ipairs { 0, -1, 1.5, "many", 2 ^ 20 + 1, 1e300, math.huge, 0 / 0 } do
            local ok, err = pcall(function()
                stopwatch.new { open = open }
            end)
            assert.is_false(ok)
            assert.matches("stopwatch_spec.lua:%d+: moonlap.stopwatch: open must be", err)
        end
    end)

    it("merges over nginx workers into a Prometheus page", function()
        local http = [[
            lua_shared_dict moonlap 1m;
            init_worker_by_lua_block {
                local histogram = require "moonlap.histogram"
                local h = histogram.new()
                -- Worker 0 records 1…10 µs, worker 1 11…20 µs.
                for i = 1, 10 do
                    h:record((ngx.worker.id() * 10 + i) * 1000 + 0.25)
                end
                assert(require("moonlap.workers").publish(ngx.shared.moonlap, "spec", h))
            }
        ]]
        local server_conf = [[
            location = /collect {
                content_by_lua_block {
                    local workers = require "moonlap.workers"
                    local h = assert(workers.collect(ngx.shared.moonlap, "spec"))
                    ngx.print(h:count(), " ", h:min(), " ", h:max(), " ", h:mean())
                }
            }
            location = /metrics {
                content_by_lua_block {
                    local workers = require "moonlap.workers"
                    local h = assert(workers.collect(ngx.shared.moonlap, "spec"))
                    ngx.print(require("moonlap.prometheus").text("spec_seconds", "Spec.",
                        { { histogram = h, labels = { uri = 'a"b' } } }, { 5e-6, 1e-5, 1 }))
                }
            }
            location = /nothing {
                content_by_lua_block {
                    local workers = require "moonlap.workers"
                    ngx.print(workers.collect(ngx.shared.moonlap, "other"):count())
                }
            }
            location = /corrupt {
                content_by_lua_block {
                    ngx.shared.moonlap:set("moonlap:bad:1", "1 2 3 rubbish")
                    local workers = require "moonlap.workers"
                    local h, err = workers.collect(ngx.shared.moonlap, "bad")
                    ngx.print(tostring(h), " ", err)
                }
            }
        ]]
        nginx.with({ http = http, server = server_conf, workers = 2 }, function(server)
            for _ = 1, 100 do -- until the second worker is up
                if server:get "/collect":match "^20 " then
                    break
                end
            end
            assert.equal("20 1000.25 20000.25 10500.25", server:get "/collect")
            assert.equal([[
# HELP spec_seconds Spec.
# TYPE spec_seconds histogram
spec_seconds_bucket{uri="a\"b",le="5e-06"} 5
spec_seconds_bucket{uri="a\"b",le="1e-05"} 10
spec_seconds_bucket{uri="a\"b",le="1"} 20
spec_seconds_bucket{uri="a\"b",le="+Inf"} 20
spec_seconds_sum{uri="a\"b"} 0.00021000500000000001
spec_seconds_count{uri="a\"b"} 20
]], server:get "/metrics")
            assert.equal("0", server:get "/nothing")
            assert.matches("^nil worker 1: histogram encoding: ", server:get "/corrupt")
        end)
    end)
end)

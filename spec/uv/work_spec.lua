local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("work of moonlap.uv", support.with_uv(function(uv)
    it("brings its results to the loop", function()
        local results = {}
        local context = uv.new_work(function(...)
            return select("#", ...), ...
        end, function(n, ...)
            results[#results + 1] = { n = n, count = select("#", ...), ... }
        end)
        assert.is_true(context:queue(nil, true, 1.5, "a\0b", nil))
        assert.is_true(uv.queue_work(context))
        uv.run()
        table.sort(results, function(a, b) return a.n > b.n end)
        assert.same({ { n = 5, count = 5, nil, true, 1.5, "a\0b", nil }, { n = 0, count = 0 } },
            results)
        assert.truthy(tostring(context):find "^luv_work_ctx_t: ")
    end)

    it("runs in other threads, in states that are used again", function()
        local here, threads, most = uv.thread_self(), {}, 0
        local context = uv.new_work(function()
            local luv = require "luv"
            _G.calls = (rawget(_G, "calls") or 0) + 1 -- luacheck: ignore
            return luv.thread_self(), _G.calls -- luacheck: ignore
        end, function(thread, calls)
            threads[#threads + 1] = thread
            most = math.max(most, calls)
        end)
        for _ = 1, 100 do
            context:queue()
        end
        uv.run()
        assert.equal(100, #threads)
        assert.is_true(most > 1)
        for _, thread in ipairs(threads) do
            assert.is_false(thread == here)
        end
    end)

    it("reads folders and hands the entries back, or what is left of them", function()
        child.with_folder(function(folder)
            for i = 1, 3 do
                child.write(folder .. "/in/" .. i, "x")
            end
            child.write(folder .. "/in/sub/x", "x")
            local found, left = {}, nil
            local context
            context = uv.new_work(function(path, listing)
                local luv = require "luv"
                if listing then
                    luv.fs_scandir_next(listing)
                    return listing
                end
                return luv.fs_scandir(path)
            end, function(listing)
                if left then
                    left = listing
                    return
                end
                left = listing
                for name, kind in uv.fs_scandir_next, listing do
                    found[name] = kind
                end
                context:queue(folder, uv.fs_scandir(folder .. "/in"))
            end)
            context:queue(folder .. "/in")
            uv.run()
            assert.same(
                { ["1"] = "file", ["2"] = "file", ["3"] = "file", sub = "directory" }, found)
            local n = 0
            for _ in uv.fs_scandir_next, left do
                n = n + 1
            end
            assert.equal(3, n)
        end)
    end)

    it("can send to an async, and hand it back", function()
        local heard, returned
        local async = uv.new_async(function(...) heard = { ... } end)
        local context = uv.new_work(function(a)
            a:send("from the pool", 1)
            return a
        end, function(a) returned = a end)
        context:queue(async)
        local timer = uv.new_timer()
        timer:start(0, 1, function()
            if heard and returned then
                timer:close()
                async:close()
            end
        end)
        uv.run()
        assert.same({ "from the pool", 1 }, heard)
        assert.is_true(returned == async)
    end)

    it("refuses what luv refuses, in its words", function()
        local function nothing() end
        local function refuses(words, ...)
            local ok, err = pcall(...)
            assert.is_false(ok)
            assert.truthy(err:find(words, 1, true), err)
        end
        refuses("function expected, got no value", uv.new_work)
        refuses("function expected, got table", uv.new_work, nothing, {})
        refuses("function expected, got number", uv.new_work, nothing, nothing, 1)
        refuses("Error: unable to dump given function", uv.new_work, print, nothing)
        refuses("luv_work_ctx expected, got userdata", uv.queue_work, uv.thread_self())
        local context = uv.new_work(nothing, nothing)
        refuses("Error: thread arg not support type 'function' at 2", context.queue, context, 1,
            nothing)
        assert.is_false(uv.run())
    end)

    it("tells of its errors and calls back without results", function()
        local done = child.with_folder(function(folder)
            child.write(folder .. "/user.lua", [[
                local uv = require "moonlap.uv"
                local function after(...)
                    print("after", select("#", ...), ...)
                end
                for _, work in ipairs {
                    function() error "in the pool" end,
                    function() error {} end,
                    function() return 7, print, 8 end,
                    "x x",
                } do
                    uv.new_work(work, after):queue()
                    uv.run()
                end
            ]])
            return child.start(folder, { args = { "user.lua" } })
        end)
        assert.equal(0, done.status)
        assert.equal("after\t0\nafter\t0\nafter\t1\t7\nafter\t0\n", done.stdout)
        assert.truthy(done.stderr:find "Uncaught Error: user.lua:6: in the pool\nstack traceback:")
        assert.truthy(done.stderr:find("Uncaught Error: (null)\n", 1, true))
        assert.truthy(done.stderr:find("thread arg not support type 'function' at 2", 1, true))
        assert.truthy(done.stderr:find("Uncaught Error in work callback: pool:1:", 1, true))
    end)

    it("tells of endless recursion and of the end of memory, too", function()
        local done = child.with_folder(function(folder)
            child.write(folder .. "/user.lua", [[
                local uv = require "moonlap.uv"
                for _, work in ipairs {
                    function() local function deeper() return 1 + deeper() end return deeper() end,
                    function() return ("x"):rep(2e9) end,
                    function() return "fine" end,
                } do
                    uv.new_work(work, print):queue()
                    uv.run()
                end
            ]])
            return child.start(folder, {
                args = { "user.lua" }, prefix = "timeout 60 prlimit --as=1500000000 ",
            })
        end)
        assert.equal(0, done.status, done.stderr)
        assert.equal("\n\nfine\n", done.stdout)
        assert.truthy(done.stderr:find "^Uncaught Error: [^\n]+\n", done.stderr)
        assert.truthy(done.stderr:find("System Error: not enough memory\n", 1, true), done.stderr)
    end)

    it("takes many arguments, and functions of many lines", function()
        local got
        local context = uv.new_work(assert(loadstring("local n = select('#', ...)\n"
            .. ("n = n + 0\n"):rep(2000) .. "return n, ...")), function(n, ...)
            got = { n, select("#", ...), (select(-1, ...)) }
        end)
        local values = {}
        for i = 1, 2000 do
            values[i] = i
        end
        context:queue(unpack(values))
        uv.run()
        assert.same({ 2000, 2000, 2000 }, got)
    end)

    it("under way is waited for when the state ends", function()
        local done = child.with_folder(function(folder)
            child.write(folder .. "/user.lua", [[
                local uv = require "moonlap.uv"
                local context = uv.new_work(function() require "luv".sleep(5) end, print)
                for i = 1, 50 do
                    context:queue(("x"):rep(i), uv.new_async(print))
                end
            ]])
            return child.start(folder, { args = { "user.lua" } })
        end)
        assert.equal(0, done.status, done.stderr)
        assert.equal("", done.stdout .. done.stderr)
    end)
end))

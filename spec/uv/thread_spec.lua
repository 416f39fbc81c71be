local child = require "spec.support.child"
local support = require "spec.support.uv"

-- A program of its own: it may end the process, or hang.
local function run(code)
    return child.with_folder(function(folder)
        child.write(folder .. "/user.lua", 'local uv = require "moonlap.uv"\n' .. code)
        return child.start(folder, { args = { "user.lua" }, prefix = "timeout 100" })
    end)
end

describe("threads of moonlap.uv", support.with_uv(function(uv)
    -- Nothing that a failed test has left may keep the next one waiting.
    after_each(function()
        support.close_all(uv)
    end)

    -- What a thread gets, in words.
    local function described(...)
        local said
        local async
        async = uv.new_async(function(text)
            said = text
            async:close()
        end)
        uv.new_thread(function(answer, ...)
            local words = {}
            for i = 1, select("#", ...) do
                local value = select(i, ...)
                words[i] = type(value) == "string" and ("%q"):format(value)
                    or type(value) == "userdata" and tostring(value):match "^[%w_]+"
                    or tostring(value)
            end
            answer:send(table.concat(words, " "))
        end, async, ...):join()
        uv.run()
        return said
    end

    it("get nil, booleans, numbers, strings, asyncs and threads", function()
        assert.equal("", described())
        assert.equal("nil", described(nil))
        assert.equal("nil true false nil", described(nil, true, false, nil))
        assert.equal("1 -0.5 inf 65536", described(1, -0.5, math.huge, 2 ^ 16))
        assert.equal('"" "a" "x\\0y"', described("", "a", "x\0y"))
        assert.equal(("%q"):format(("y"):rep(100000)), described(("y"):rep(100000)))
        local async = uv.new_async(function() end)
        async:unref()
        assert.equal("uv_async_t uv_thread_t uv_async_t", described(async, uv.thread_self(), async))
    end)

    it("have a Lua state of their own, with the library as luv", function()
        local answer, async
        async = uv.new_async(function(...)
            answer = { ... }
            async:close()
        end)
        _G.uv_spec_global = 1 -- luacheck: ignore
        local upvalue = 1
        uv.new_thread(function(a)
            local luv = require "luv"
            local ran = 0
            local timer = luv.new_timer()
            timer:start(1, 0, function()
                ran = ran + 1
                timer:close()
            end)
            luv.run()
            a:send(type(rawget(_G, "uv_spec_global")), type(upvalue), rawget(_G, "_THREAD"), ran)
        end, async):join()
        _G.uv_spec_global = nil -- luacheck: ignore
        uv.run()
        assert.same({ "nil", "nil", true, 1 }, answer)
    end)

    it("are equal when they are the same", function()
        local main = uv.thread_self()
        assert.is_true(main == uv.thread_self())
        assert.is_true(main:equal(uv.thread_self()))
        assert.equal(tostring(main), tostring(uv.thread_self()))
        local other = uv.new_thread(function() end)
        assert.is_false(uv.thread_equal(main, other))
        assert.is_true(other:join())

        local answer, async
        async = uv.new_async(function(...)
            answer = { ... }
            async:close()
        end)
        uv.new_thread(function(a, from)
            local luv = require "luv"
            a:send(from == luv.thread_self(), luv.thread_self())
        end, async, main):join()
        uv.run()
        assert.is_false(answer[1])
        assert.is_false(answer[2] == main)
    end)

    it("can be joined once, and only by the one who started them", function()
        local thread = uv.new_thread(function() end)
        assert.is_true(uv.thread_join(thread))
        assert.equal("ESRCH", (select(3, thread:join())))
        assert.equal("EINVAL", (select(3, uv.thread_self():join())))
    end)

    it("take source and code, options, and refuse the rest in luv's words", function()
        assert.is_true(uv.new_thread("return 1"):join())
        assert.is_true(uv.new_thread(string.dump(function() end)):join())
        assert.is_true(uv.new_thread({ stack_size = 0 }, function() end):join())
        assert.is_true(uv.new_thread({ stack_size = "100000" }, function() end):join())
        local function refuses(words, ...)
            local ok, err = pcall(...)
            assert.is_false(ok)
            assert.truthy(err:find(words, 1, true), err)
        end
        refuses("stack_size option must be a number if set", uv.new_thread, { stack_size = {} },
            function() end)
        refuses("function expected, got no value", uv.new_thread)
        refuses("function expected, got nil", uv.new_thread, nil)
        refuses("Error: unable to dump given function", uv.new_thread, print)
        refuses("Error: thread arg not support type 'table' at 2", uv.new_thread, function() end, 1,
            {})
        refuses("Error: thread arg not support type 'userdata' at 1", uv.new_thread,
            function() end, io.stdout)
        refuses("uv_thread expected, got number", uv.thread_join, 1)
        refuses("uv_thread expected, got nil", uv.thread_equal, uv.thread_self(), nil)
    end)

    it("that send are heard last word last, and told when nobody listens any more", function()
        local done = run [[
            local last, finished, threads = {}, 0, {}
            local async
            async = uv.new_async(function(i, k, text, self)
                assert(not last[i] or last[i] <= k)
                assert(#text == k % 50 and self == async)
                last[i] = k
            end)
            local sender = string.dump(function(a, ending, i)
                for k = 1, 500 do
                    assert(a:send(i, k, ("x"):rep(k % 50), a) == 0)
                end
                ending:send(i)
                local uv, ok, err, name = require "luv"
                repeat
                    uv.sleep(1)
                    ok, err, name = a:send(i, 501, "x", a)
                until not ok
                assert(name == "EINVAL" and err == "EINVAL: invalid argument")
            end)
            local ending = {}
            for i = 1, 4 do
                ending[i] = uv.new_async(function(n)
                    assert(n == i)
                    finished = finished + 1
                    ending[i]:close()
                    if finished == 4 then
                        async:close()
                    end
                end)
                threads[i] = uv.new_thread(sender, async, ending[i], i)
            end
            uv.run()
            for i = 1, 4 do assert(threads[i]:join()) end
            print(finished)
        ]]
        assert.equal(0, done.status, done.stderr)
        assert.equal("4\n", done.stdout)
    end)

    it("end the process with an error, as with luv", function()
        local done = run [[
            uv.new_thread(function() error "in the thread" end):join()
            print "not reached"
        ]]
        assert.equal(255, done.status)
        assert.truthy(done.stderr:find("^Uncaught Error: [^\n]*in the thread\nstack traceback:"))
        assert.equal("", done.stdout)
    end)

    it("that cannot be loaded say so and end", function()
        local done = run [[uv.new_thread("y y"):join() print "reached"]]
        assert.equal("Uncaught Error in thread: thread:1: '=' expected near 'y'\n", done.stderr)
        assert.equal("reached\n", done.stdout)
    end)

    it("do not mind when the state that started them ends first", function()
        local done = run [[
            for i = 1, 4 do
                uv.new_thread(function(a)
                    while a:send("x") do end
                    require "luv".sleep(10)
                end, uv.new_async(function() end))
            end
            uv.run "nowait"
        ]]
        assert.equal(0, done.status, done.stderr)
    end)
end))

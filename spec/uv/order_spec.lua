local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("The order of moonlap.uv's callbacks", support.with_uv(function(uv)
    local log

    local function note(word)
        return function()
            log[#log + 1] = word
        end
    end

    local function close(...)
        for _, handle in ipairs { ... } do
            if not handle:is_closing() then
                handle:close()
            end
        end
    end

    before_each(function()
        log = {}
    end)

    after_each(function()
        assert.same({}, support.close_all(uv)) -- what a test left open
    end)

    it("is libuv's in a turn", function()
        local a, b = support.pair(uv)
        local handles = {
            uv.new_check(), uv.new_prepare(), uv.new_idle(), uv.new_timer(),
        }
        for i, name in ipairs { "check", "prepare", "idle" } do
            handles[i]:start(note(name))
        end
        handles[4]:start(0, 0, note "timer")
        b:read_start(function(_, data)
            note(data)()
        end)
        a:write "read"
        -- With a turn that begins late, the timer is due in either version of libuv.
        assert.is_true(uv.run "nowait")
        local timer_last = uv.version() >= 0x012d00
        local turn = { "idle", "prepare", "read", "check" }
        table.insert(turn, timer_last and 5 or 1, "timer")
        assert.same(turn, log)
        close(a, b, unpack(handles))
        uv.run()
    end)

    it("calls the idle handle first that was started last, and one started meanwhile next turn",
        function()
            local first, second, third = uv.new_idle(), uv.new_idle(), uv.new_idle()
            first:start(note "first")
            second:start(function()
                note "second" ()
                third:start(note "third")
            end)
            uv.run "nowait"
            assert.same({ "second", "first" }, log)
            uv.run "nowait"
            assert.same({ "second", "first", "third", "second", "first" }, log)
            close(first, second, third)
            uv.run()
        end)

    it("leaves out what was stopped or closed in the same batch", function()
        for _, how in ipairs { "stop", "close" } do
            local timers = {}
            for i = 1, 2 do
                timers[i] = uv.new_timer()
                timers[i]:start(0, 0, function()
                    log[#log + 1] = i
                    timers[3 - i][how](timers[3 - i])
                end)
            end
            uv.run "once"
            assert.same({ 1 }, log)
            log = {}
            close(unpack(timers))
            uv.run()
        end
    end)

    it("delivers nothing that was read to a stream that was closed before", function()
        local a1, b1 = support.pair(uv)
        local a2, b2 = support.pair(uv)
        local function reader(me, other)
            return function(_, data)
                log[#log + 1] = data
                close(me, other)
            end
        end
        b1:read_start(reader(b1, b2))
        b2:read_start(reader(b2, b1))
        a1:write "x"
        a2:write "x"
        uv.run "once"
        close(a1, a2)
        uv.run()
        assert.same({ "x" }, log)
    end)

    it("keeps what was read before read_stop until reading starts again", function()
        local a1, b1 = support.pair(uv)
        local a2, b2 = support.pair(uv)
        local streams = { b1, b2 }
        local started = 0
        local function reader(i)
            return function(err, data)
                log[#log + 1] = i .. tostring(err or data)
                if started == 0 then
                    started = 1
                    streams[3 - i]:read_stop() -- its bytes and its end have been read already
                end
            end
        end
        b1:read_start(reader(1))
        b2:read_start(reader(2))
        a1:write "x"
        a2:write "x"
        close(a1, a2)
        for _ = 1, 5 do
            uv.run "nowait"
        end
        local stopped = log[1]:sub(1, 1) == "1" and 2 or 1
        local reads = table.concat(log, " ")
        assert.equal(("%dx %dnil"):format(3 - stopped, 3 - stopped), reads)
        streams[stopped]:read_start(reader(stopped))
        for _ = 1, 5 do
            uv.run "nowait"
        end
        assert.equal(("%s %dx %dnil"):format(reads, stopped, stopped), table.concat(log, " "))
        close(b1, b2)
        uv.run()
    end)

    it("completes chained writes in at most nine rounds a turn, and the rest later", function()
        local a, b = support.pair(uv)
        local written, in_turn, most = 0, 0, 0
        local check = uv.new_check()
        check:start(function()
            most, in_turn = math.max(most, in_turn), 0
        end)
        local function write()
            in_turn = in_turn + 1
            if written == 100 then
                return close(a, b, check)
            end
            written = written + 1
            a:write("x", write)
        end
        write()
        in_turn = 0
        uv.run()
        assert.equal(100, written)
        assert.equal(9, most)
    end)

    it("keeps writes in order when the kernel takes some at once and some later", function()
        local a, b = support.pair(uv)
        local block = ("y"):rep(200000) -- more than a socket's buffer
        local received = 0
        for i, data in ipairs { "x", block, "x", block, "x" } do
            a:write(data, function(err)
                log[#log + 1] = err or i
                if i == 2 then
                    a:write("x", note(6)) -- from within a completion
                end
            end)
        end
        a:shutdown(note "shutdown")
        b:read_start(function(_, data)
            received = received + (data and #data or 0)
            if not data then
                close(a, b)
            end
        end)
        uv.run()
        -- The write of the second completion comes after the shutdown was asked for.
        assert.same({ 1, 2, 3, 4, 5, "shutdown" }, log)
        assert.equal(400003, received)
    end)

    it("cancels what is still to be written when the handle is closed, before its close callback",
        function()
            local a, b = support.pair(uv)
            local block = ("y"):rep(400000)
            for i = 1, 3 do
                a:write(block, function(err)
                    log[#log + 1] = i .. tostring(err)
                end)
            end
            a:close(note "closed")
            close(b)
            uv.run()
            assert.same({ "1ECANCELED", "2ECANCELED", "3ECANCELED", "closed" }, log)
        end)

    it("finishes the batch after uv.stop, and goes on with the next run", function()
        local timers = {}
        for i = 1, 3 do
            timers[i] = uv.new_timer()
            timers[i]:start(0, 0, function()
                log[#log + 1] = i
                if i == 1 then
                    uv.stop()
                end
                timers[i]:close()
            end)
        end
        local idle, turns = uv.new_idle(), 0
        idle:start(function()
            turns = turns + 1
        end)
        assert.is_true(uv.run())
        assert.same({ 1, 2, 3 }, log)
        assert.is_true(turns <= 1)
        idle:start(function()
            idle:close()
        end)
        assert.is_false(uv.run())
    end)

    it("does not wait in one turn that had an idle handle at its start", function()
        local idle, timer = uv.new_idle(), uv.new_timer()
        timer:start(10000, 0, note "waited")
        idle:start(function()
            log[#log + 1] = "idle"
            idle:stop()
        end)
        assert.is_true(uv.run "once")
        assert.same({ "idle" }, log)
        close(idle, timer)
        uv.run()
    end)

    it("counts the end of a write that has no callback as an event", function()
        local a, b = support.pair(uv)
        local timer = uv.new_timer()
        timer:start(10000, 0, note "waited")
        timer:unref()
        assert.is_false(uv.loop_alive())
        a:write "x"
        assert.is_true(uv.loop_alive())
        uv.run "once" -- returns without waiting
        assert.is_false(uv.loop_alive())
        close(a, b, timer)
        uv.run()
        assert.same({}, log)
    end)

    it("reads the clock in a run that has nothing to do", function()
        local before = uv.now()
        uv.sleep(5)
        assert.equal(before, uv.now())
        assert.is_false(uv.run())
        assert.is_true(uv.now() >= before + 4)
    end)

    it("refuses a run within a run", function()
        local timer = uv.new_timer()
        local results
        timer:start(0, 0, function()
            results = { uv.run() }
            timer:close()
        end)
        uv.run()
        assert.same({ nil, "loop already running" }, results)
        assert.is_nil(uv.loop_mode())
    end)

    it("ends a run when nothing is left, whatever is not referenced or not closed", function()
        local timer, idle = uv.new_timer(), uv.new_idle()
        timer:start(1e6, 0, note "never")
        timer:unref()
        assert.is_false(uv.run())
        assert.is_false(idle:is_active())
        local seen = {}
        uv.walk(function(handle)
            seen[#seen + 1] = handle
        end)
        assert.same({ timer, idle }, seen)
        close(timer, idle)
        uv.run()
        assert.same({}, log)
    end)

    it("walks what is open in the order of creation, whatever was closed between", function()
        math.randomseed(7)
        local model, wanted, closed = {}, 0, 0
        local function close_some()
            for i = #model, 1, -1 do
                if math.random(3) == 1 then
                    local with_callback = math.random(3) == 1
                    wanted = wanted + (with_callback and 1 or 0)
                    table.remove(model, i):close(with_callback and function()
                        closed = closed + 1
                        uv.new_timer():close()
                    end or nil)
                end
            end
        end
        for _ = 1, 200 do
            for _ = 1, math.random(60) do
                model[#model + 1] = math.random(2) == 1 and uv.new_timer() or uv.new_idle()
            end
            close_some()
            if math.random(2) == 1 then
                uv.run "nowait"
                local seen = {}
                uv.walk(function(handle)
                    if not handle:is_closing() then
                        seen[#seen + 1] = handle
                    end
                end)
                assert.is_true(#seen == #model)
                for i = 1, #model do
                    assert.is_true(seen[i] == model[i])
                end
            end
        end
        close(unpack(model))
        uv.run()
        assert.equal(wanted, closed)
    end)

    it("serves coroutines", function()
        local function sleep(ms)
            local co = coroutine.running()
            local timer = uv.new_timer()
            timer:start(ms, 0, function()
                timer:close()
                assert(coroutine.resume(co))
            end)
            coroutine.yield()
        end
        for i = 1, 3 do
            coroutine.wrap(function()
                for j = 1, 2 do
                    sleep(0)
                    log[#log + 1] = i .. j
                end
            end)()
        end
        coroutine.wrap(uv.run)() -- the loop itself may run in one
        table.sort(log)
        assert.same({ "11", "12", "21", "22", "31", "32" }, log)
    end)

    it("is luv's for random programs", function()
        child.with_folder(function(folder)
            child.write(folder .. "/random.lua", child.read "spec/support/uv_random.lua")
            local function run(module, seed)
                return child.start(folder, { args = { "random.lua", module, tostring(seed) } })
            end
            local lines = 0
            local has_luv = child.start(folder, { args = { "-e", "require 'luv'" } }).status == 0
            for seed = 1, 25 do
                local ours = run("moonlap.uv", seed)
                assert.equal(0, ours.status, ours.stderr)
                lines = lines + select(2, ours.stdout:gsub("\n", ""))
                if has_luv then
                    local theirs = run("luv", seed)
                    assert.equal(theirs.stdout, ours.stdout, "seed " .. seed)
                end
            end
            assert.is_true(lines > 500)
            if not has_luv then
                if os.getenv "MOONLAP_TEST_REQUIRE_ALL" then
                    error "luv is missing: run script/bootstrap test (lua-luv)"
                end
                pending "there is no luv to compare with: apt-get install lua-luv on Debian"
            end
        end)
    end)
end))

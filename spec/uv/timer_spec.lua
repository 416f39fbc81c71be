local child = require "spec.support.child"
local support = require "spec.support.uv"

-- Starts, stops, restarts and closes timers by chance, and compares who is called with a list that
-- is kept in order by search. Time stands still meanwhile, and goes on by leaps.
local AGAINST_A_MODEL = [[
    local state = 4711
    local function random(n)
        state = state * 16807 % 2147483647
        return state % n + 1
    end
    local starts, now, called = 0, 0, {}
    local timers, closed = {}, {}

    local function start(t)
        starts = starts + 1
        local ms, interval = random(12) - 1, random(4) == 1 and random(7) or 0
        t.due, t.order, t.interval = now + ms, starts, interval
        t.handle:start(ms, interval, function()
            called[#called + 1] = t.name
            -- As libuv does it before the callback.
            starts = starts + 1
            t.due, t.order = t.interval > 0 and now + t.interval or false, starts
        end)
    end

    local function act(t)
        local what = random(10)
        if what <= 6 then
            start(t)
        elseif what <= 8 then
            t.handle:stop()
            t.due = false
        else
            local name = t.name
            t.handle:close(random(2) == 1 and function() closed[name] = true end or nil)
            closed[name] = closed[name] or false
            t.handle, t.name, t.due = uv.new_timer(), t.name + 1000, false
        end
    end

    local function wanted()
        local list = {}
        for _, t in ipairs(timers) do
            if t.due and t.due <= now then
                list[#list + 1] = t
            end
        end
        table.sort(list, function(a, b)
            return a.due < b.due or a.due == b.due and a.order < b.order
        end)
        for i, t in ipairs(list) do
            list[i] = t.name
        end
        return table.concat(list, " ")
    end

    for i = 1, 60 do
        timers[i] = { name = i, handle = uv.new_timer(), due = false }
    end
    local turns, fired = 0, 0
    local clock = require "moonlap.uv.loop"
    clock.now = function() return now end
    for turn = 1, 400 do
        for _ = 1, random(40) do
            act(timers[random(#timers)])
        end
        for _, t in ipairs(timers) do
            assert(t.handle:is_active() == (t.due ~= false))
            assert(not t.due or t.handle:get_due_in() == math.max(0, t.due - now))
        end
        now = now + random(9) - 1
        local expected = wanted()
        called = {}
        uv.run "nowait"
        assert(table.concat(called, " ") == expected, expected)
        fired = fired + #called
    end
    answer { fired = fired }
]]

describe("Timers of moonlap.uv", support.with_uv(function(uv)
    for name, shim in pairs { ["with the shim"] = "", ["without it"] = "none" } do
        it("are called in the order in which they are due and were started, " .. name, function()
            local env = shim ~= "" and { MOONLAP_UVSHIM = shim } or {}
            local got = child.answer('local uv = require "moonlap.uv"\n' .. AGAINST_A_MODEL,
                { env = env })
            assert.is_true(got.fired > 1000)
        end)
    end

    it("start in a callback wait for the next turn, also when that raises an error", function()
        local log = {}
        uv.set_error_handler(function() end)
        local first, second = uv.new_timer(), uv.new_timer()
        first:start(0, 0, function()
            log[#log + 1] = "first"
            second:start(0, 0, function()
                log[#log + 1] = "second"
            end)
            error "broken"
        end)
        uv.run "nowait"
        assert.same({ "first" }, log)
        uv.run "nowait"
        assert.same({ "first", "second" }, log)
        uv.set_error_handler(nil)
        first:close()
        second:close()
        uv.run()
    end)

    it("tell when they would have fired after they were stopped, as libuv's do", function()
        local timer = uv.new_timer()
        assert.equal(0, timer:get_due_in())
        timer:start(1e6, 0, print)
        timer:stop()
        assert.is_true(timer:get_due_in() > 0)
        timer:close()
        assert.is_true(timer:get_due_in() > 0)
        uv.run()
        assert.equal(0, timer:get_due_in())
    end)

    it("leave nothing behind when they are closed, and then answer like closed ones", function()
        local weak = setmetatable({}, { __mode = "k" })
        local closed = uv.new_timer()
        closed:start(1e6, 5, print)
        closed:close()
        weak[uv.new_timer()] = true
        for timer in pairs(weak) do
            timer:close()
        end
        uv.run()
        collectgarbage()
        collectgarbage()
        assert.is_nil(next(weak))
        -- These may have the record that the closed one had.
        local others = {}
        for i = 1, 300 do
            others[i] = uv.new_timer()
            others[i]:start(1e6, 7, print)
        end
        assert.is_true(closed:is_closing())
        assert.is_false(closed:is_active())
        assert.equal("EINVAL", select(3, closed:start(1, 1, print)))
        assert.equal("EINVAL", select(3, closed:again()))
        assert.equal(0, closed:stop())
        closed:set_repeat(9)
        closed:unref()
        assert.has_error(function()
            closed:close()
        end)
        for i = 1, 300 do
            assert.equal(7, others[i]:get_repeat())
            assert.is_true(others[i]:is_active() and others[i]:has_ref())
            others[i]:close()
        end
        uv.run()
    end)

    it("do not grow when they are started again and again", function()
        local got = child.answer [[
            local uv = require "moonlap.uv"
            local timer = uv.new_timer()
            local function restart(n)
                for i = 1, n do
                    timer:start(60000 + i % 100, 0, print)
                    if i % 1000 == 0 then
                        uv.run "nowait"
                    end
                end
                collectgarbage()
                return collectgarbage "count"
            end
            local before = restart(1e5)
            answer { grown = restart(1e6) - before }
        ]]
        assert.is_true(got.grown < 64)
    end)

    it("are told from other userdata", function()
        local timer, idle = uv.new_timer(), uv.new_idle()
        for _, wrong in ipairs { idle, newproxy(), newproxy(true), {}, 1, "x" } do
            local ok, err = pcall(uv.timer_start, wrong, 1, 0, print)
            assert.is_false(ok)
            assert.match("uv_timer expected, got", err)
        end
        assert.is_false((pcall(uv.idle_start, timer, print)))
        assert.is_false((pcall(uv.read_stop, timer)))
        uv.close(timer)
        uv.close(idle)
        assert.is_true(uv.is_closing(timer))
        uv.run()
    end)
end))

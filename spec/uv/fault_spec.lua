local child = require "spec.support.child"
local events = require "spec.support.uv_events"
local support = require "spec.support.uv"

describe("An error in a callback of moonlap.uv", support.with_uv(function(uv)
    local EVENTS = events.kinds

    local FRAME = events.frame .. [[
        local calls = 0
        local function fn()
            calls = calls + 1
            error "broken"
        end
    ]]

    local function start(code)
        return child.with_folder(function(folder)
            child.write(folder .. "/user.lua", FRAME .. code)
            return child.start(folder, { args = { "user.lua" }, prefix = "</dev/null" })
        end)
    end

    it("ends the process with luv's words and status", function()
        for name, code in pairs(EVENTS) do
            local done = start(code .. "\nuv.run() print 'went on'")
            assert.equal(255, done.status, name .. done.stderr)
            assert.equal("", done.stdout, name)
            assert.match("^Uncaught Error: user.lua:%d+: broken\nstack trace", done.stderr, name)
        end
    end)

    it("goes to the handler, and the loop goes on", function()
        for name, code in pairs(EVENTS) do
            local done = start([[
                local told = 0
                uv.set_error_handler(function(err)
                    assert(err:find("user.lua:%d+: broken"), err)
                    assert(err:find "stack traceback")
                    told = told + 1
                    uv.walk(function(handle)
                        if not handle:is_closing() then handle:close() end
                    end)
                end)
            ]] .. code .. [[

                uv.run()
                local late, was_late = uv.new_timer(), false
                late:start(0, 0, function() was_late = true late:close() end)
                uv.run()
                print(calls, told, was_late)
            ]])
            assert.equal(0, done.status, name .. done.stderr)
            assert.equal("1\t1\ttrue\n", done.stdout, name)
        end
    end)

    local function handled(body)
        local errors = {}
        uv.set_error_handler(function(err)
            errors[#errors + 1] = err
        end)
        local ok, err = pcall(body, errors)
        uv.set_error_handler(nil)
        assert(ok, err)
    end

    it("keeps the rest of its batch", function()
        handled(function(errors)
            local calls = {}
            for i = 1, 5 do
                local timer = uv.new_timer()
                timer:start(0, 0, function()
                    timer:close()
                    calls[#calls + 1] = i
                    error({ i })
                end)
            end
            uv.run()
            assert.same({ 1, 2, 3, 4, 5 }, calls)
            assert.same({ { 1 }, { 2 }, { 3 }, { 4 }, { 5 } }, errors)
        end)
    end)

    it("comes once a turn, however often the callback fails", function()
        for _, mode in ipairs { "nowait", "once" } do
            handled(function(errors)
                local calls, handles = 0, {}
                for i, kind in ipairs { "idle", "prepare", "check", "idle" } do
                    handles[i] = uv["new_" .. kind]()
                    handles[i]:start(function()
                        calls = calls + 1
                        if calls > 100 then
                            os.exit(3)
                        end
                        error "broken"
                    end)
                end
                for turn = 1, 3 do
                    uv.run(mode)
                    assert.equal(4 * turn, calls)
                    assert.equal(4 * turn, #errors)
                end
                for _, handle in ipairs(handles) do
                    handle:close()
                end
                uv.run()
            end)
        end
    end)

    it("does not keep other handles from their turn", function()
        handled(function(errors)
            local idle, timer, late = uv.new_idle(), uv.new_timer(), false
            local calls = 0
            idle:start(function()
                calls = calls + 1
                if calls > 400 and calls < 1e6 then -- when LuaJIT has compiled it
                    error "broken"
                end
            end)
            timer:start(5, 5, function()
                if #errors > 0 then -- a busy machine may take longer than that
                    late = true
                    timer:close()
                    idle:close()
                end
            end)
            uv.run()
            assert.is_true(late)
            assert.is_true(#errors > 0)
        end)
    end)

    it("keeps writes that were complete with it", function()
        handled(function(errors)
            local fds = assert(uv.socketpair("stream", nil, { nonblock = true }, {}))
            local pipe, calls = uv.new_pipe(false), 0
            pipe:open(fds[1])
            for _ = 1, 5 do
                pipe:write("x", function()
                    calls = calls + 1
                    error "broken"
                end)
            end
            uv.run()
            pipe:close()
            uv.run()
            uv.fs_close(fds[2])
            assert.equal(5, calls)
            assert.equal(5, #errors)
        end)
    end)

    it("comes out of uv.run when the handler raises one, and the next run goes on", function()
        uv.set_error_handler(function(err)
            error("handled: " .. err:match "^[^\n]*", 0)
        end)
        local calls = 0
        for _ = 1, 2 do
            local timer = uv.new_timer()
            timer:start(0, 0, function()
                calls = calls + 1
                timer:close()
                error("broken", 0)
            end)
        end
        for i = 1, 2 do
            local ok, err = pcall(uv.run)
            assert.is_false(ok)
            assert.equal("handled: broken", err)
            assert.equal(i, calls)
        end
        assert.is_false(uv.run())
        uv.set_error_handler(nil)
    end)

    it("stays with the walk it is in", function()
        handled(function(errors)
            local a, b = uv.new_timer(), uv.new_timer()
            local seen = 0
            uv.walk(function(handle)
                seen = seen + 1
                handle:close()
                error "broken"
            end)
            uv.run()
            assert.equal(2, seen)
            assert.equal(2, #errors)
            assert.is_true(a:is_closing() and b:is_closing())
        end)
    end)
end))

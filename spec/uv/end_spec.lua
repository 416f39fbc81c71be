local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("The end of a program with moonlap.uv", support.with_uv(function()
    local function start(code)
        return child.with_folder(function(folder)
            child.write(folder .. "/user.lua", 'local uv = require "moonlap.uv"\n' .. code)
            return child.start(folder, { args = { "user.lua" }, prefix = "</dev/null" })
        end)
    end

    it("is an ordinary one where luv 1.44.2 crashes: a closed handle and no run", function()
        local done = start "uv.new_timer():close()"
        assert.equal(0, done.status, done.stderr)
        done = start "uv.new_tcp('inet'):close() uv.fs_stat('.', print)"
        assert.equal(0, done.status, done.stderr)
    end)

    it("is an ordinary one after random programs", function()
        -- script/uv-exits runs a thousand, also under valgrind and AddressSanitizer.
        child.with_folder(function(folder)
            child.write(folder .. "/exit.lua", child.read "spec/support/uv_exit.lua")
            for seed = 1, 25 do
                local done = child.start(folder, { args = { "exit.lua", tostring(seed) },
                    prefix = "</dev/null timeout -s KILL 60" })
                assert.equal(done.stdout == "3" and 3 or 0, done.status,
                    "seed " .. seed .. ": " .. done.stderr)
            end
        end)
    end)

    it("finds no more memory in use after a million callbacks than after a few", function()
        local grown = child.answer [[
            local uv = require "moonlap.uv"
            local function used()
                collectgarbage() collectgarbage()
                return collectgarbage "count"
            end
            local calls = 0
            local a, b
            local function turns(n)
                local goal = calls + n
                local idle, timer = uv.new_idle(), uv.new_timer()
                idle:start(function()
                    calls = calls + 1
                    if calls % 100 == 0 then
                        a:write("ping", function() calls = calls + 1 end)
                    end
                    if calls >= goal then
                        idle:close()
                        timer:close()
                        uv.stop()
                    end
                end)
                timer:start(0, 1, function() calls = calls + 1 end)
                uv.run()
                uv.run "nowait"
            end
            local flags = { nonblock = true }
            local fds = uv.socketpair("stream", nil, flags, flags)
            a, b = uv.new_pipe(false), uv.new_pipe(false)
            a:open(fds[1])
            b:open(fds[2])
            b:read_start(function() calls = calls + 1 end)
            turns(100000)
            local before = used()
            turns(1000000)
            answer(used() - before)
        ]]
        assert.is_true(grown < 256, "grown by " .. grown .. " KiB")
    end)

    it("holds 100,000 live handles of each kind that lives in Lua, and lets go of them", function()
        local got = child.answer [[
            local uv = require "moonlap.uv"
            local N = 100000
            local function used()
                collectgarbage() collectgarbage()
                return collectgarbage "count"
            end
            local function round()
                local calls, handles = 0, {}
                for i = 1, N do
                    local timer, idle = uv.new_timer(), uv.new_idle()
                    timer:start(0, 0, function() calls = calls + 1 end)
                    idle:start(function() calls = calls + 1 end)
                    handles[2 * i - 1], handles[2 * i] = timer, idle
                end
                uv.run "nowait"
                uv.run "nowait"
                for i = 1, 2 * N do
                    handles[i]:close()
                end
                uv.run()
                return calls
            end
            round()
            local before = used()
            local calls = round()
            answer { calls = calls, grown = used() - before }
        ]]
        assert.equal(300000, got.calls)
        assert.is_true(got.grown < 16384, "grown by " .. got.grown .. " KiB")
    end)
end))

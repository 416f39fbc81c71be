local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("uv.run", support.with_uv(function()
    it("does not wait for a timer that became due on the way to the poll", function()
        local done = child.with_folder(function(folder)
            child.write(folder .. "/user.lua", [[
                local uv = require "moonlap.uv"
                -- libuv itself has something to wait for, which never comes.
                local async = uv.new_async(print)
                local prepare, timer = uv.new_prepare(), uv.new_timer()
                prepare:start(function()
                    prepare:close()
                    uv.sleep(20)
                end)
                timer:start(5, 0, function()
                    timer:close()
                    async:close()
                end)
                uv.run()
            ]])
            return child.start(folder, { args = { "user.lua" }, prefix = "timeout 100" })
        end)
        assert.equal(0, done.status, done.stderr)
    end)

    it("brings what its own thread sends to an async with the next poll", function()
        assert.same({ timeout = 0, seen = { "b", "again", "here" }, alive = false }, child.answer [[
            local uv = require "moonlap.uv"
            local seen = {}
            local async
            async = uv.new_async(function(text)
                seen[#seen + 1] = text
                if text == "b" then
                    async:send "again" -- comes in the next turn
                end
            end)
            async:send "a"
            async:send "b"
            local timeout = uv.backend_timeout()
            uv.run "nowait"
            uv.run "once"
            -- What is closed, and what keeps nothing alive, hears nothing.
            local closed, idle = uv.new_async(function() seen[#seen + 1] = "closed" end), nil
            closed:send()
            closed:close()
            async:send "here"
            async:unref()
            idle = uv.new_idle()
            idle:start(function() idle:close() end)
            uv.run()
            async:send "never"
            answer { timeout = timeout, seen = seen, alive = uv.run() }
        ]])
    end)
end))

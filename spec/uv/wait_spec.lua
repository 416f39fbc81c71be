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
end))

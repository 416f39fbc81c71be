local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("moonlap.uv's loop", support.with_uv(function(uv)
    it("can be closed when nothing is left, and only then", function()
        assert.equal(0, uv.loop_close())
        local timer = uv.new_timer()
        assert.equal("EBUSY", select(3, uv.loop_close()))
        timer:close()
        assert.equal("EBUSY", select(3, uv.loop_close()))
        uv.run()
        uv.fs_stat(".", function() end)
        assert.equal("EBUSY", select(3, uv.loop_close()))
        uv.run()
        assert.equal(0, uv.loop_close())
        assert.is_false(uv.loop_alive())
    end)

    it("lists its handles on stderr", function()
        local seen = child.with_folder(function(folder)
            child.write(folder .. "/list.lua", [[
                local uv = require "moonlap.uv"
                local timer, idle, tcp = uv.new_timer(), uv.new_idle(), uv.new_tcp()
                timer:start(1000, 0, function() end)
                timer:unref()
                idle:start(function() end)
                uv.print_all_handles()
                io.stderr:write "\n"
                uv.print_active_handles()
            ]])
            return child.start(folder, { args = { "list.lua" } })
        end)
        assert.equal(0, seen.status, seen.stderr)
        assert.equal("[-A-] timer    0x\n[RA-] idle     0x\n[R--] tcp      0x\n\n"
            .. "[-A-] timer    0x\n[RA-] idle     0x\n", (seen.stderr:gsub("0x%x+", "0x")))
    end)

    it("measures how long it waits, when told to", function()
        local idle_ns = child.answer [[
            local uv = require "moonlap.uv"
            local function wait()
                local timer = uv.new_timer()
                timer:start(20, 0, function() timer:close() end)
                uv.run()
                return uv.metrics_idle_time()
            end
            local before = wait()
            assert(uv.loop_configure "metrics_idle_time" == 0)
            answer { before, wait() }
        ]]
        assert.equal(0, idle_ns[1])
        assert.is_true(idle_ns[2] > 0)
    end)

    it("blocks SIGPROF while it polls, no other signal", function()
        local answers = child.answer [[
            local uv = require "moonlap.uv"
            answer { uv.loop_configure("block_signal", "sigprof"),
                select(3, uv.loop_configure("block_signal", "sigint")) }
        ]]
        assert.same({ 0, "EINVAL" }, answers)
    end)
end))

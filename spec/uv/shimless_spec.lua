local child = require "spec.support.child"
local support = require "spec.support.uv"

describe("moonlap.uv without its C library", support.with_uv(function()
    local function answer(code)
        return child.answer('local uv = require "moonlap.uv"\n' .. code,
            { env = { MOONLAP_UVSHIM = "none" } })
    end

    it("is not done without where a file is named that is not there", function()
        local got = child.answer('answer { pcall(require, "moonlap.uv") }',
            { env = { MOONLAP_UVSHIM = "/nowhere/uvshim.so" } })
        assert.is_false(got[1])
        assert.match("/nowhere/uvshim.so", got[2], 1, true)
        assert.match("make build", got[2])
    end)

    it("says so, and runs timers, idle, prepare and check", function()
        local got = answer [[
            local order = {}
            local timer, idle = uv.new_timer(), uv.new_idle()
            local prepare, check = uv.new_prepare(), uv.new_check()
            timer:start(2, 2, function()
                order[#order + 1] = "timer"
                if #order > 4 then
                    timer:close(function() order[#order + 1] = "closed" end)
                end
            end)
            for name, handle in pairs { idle = idle, prepare = prepare, check = check } do
                handle:start(function()
                    order[#order + 1] = name
                    handle:close()
                end)
            end
            uv.run()
            answer { missing = uv.shim_missing(), order = order, alive = uv.loop_alive() }
        ]]
        assert.match("MOONLAP_UVSHIM says none", got.missing)
        assert.match("make build", got.missing)
        local order = table.concat(got.order, " ")
        assert.match("idle prepare check", order)
        assert.match("timer closed$", order)
        assert.is_false(got.alive)
    end)

    it("calls what needs no callback", function()
        local got = answer [[
            local _, message, name = uv.fs_stat "/nowhere"
            answer {
                kind = uv.fs_stat(".").type, message = message, name = name,
                address = uv.getaddrinfo("127.0.0.1", nil, { numerichost = true })[1].addr,
                version = uv.version_string(), pid = uv.getpid(),
            }
        ]]
        assert.equal("directory", got.kind)
        assert.equal("ENOENT: no such file or directory: /nowhere", got.message)
        assert.equal("127.0.0.1", got.address)
    end)

    it("raises an error that tells the remedy for the rest, and leaves nothing behind", function()
        local got = answer [[
            local errors = {}
            local function use(handle, method, ...)
                local ok, err = pcall(handle[method], handle, ...)
                handle:close()
                error(err, 0)
            end
            for name, call in pairs {
                async = function() uv.new_async(print) end,
                request = function() uv.fs_stat(".", print) end,
                udp_now = function() uv.new_udp "inet" end,
                signal = function() uv.new_signal() end,
                spawn = function() uv.spawn("true", {}) end,
                thread = function() uv.new_thread(function() end) end,
                tcp = function() use(uv.new_tcp(), "bind", "127.0.0.1", 0) end,
                udp = function() use(uv.new_udp(), "bind", "127.0.0.1", 0) end,
                fs_event = function() use(uv.new_fs_event(), "start", ".", {}, print) end,
                fs_poll = function() use(uv.new_fs_poll(), "start", ".", 1, print) end,
            } do
                local ok, err = pcall(call)
                errors[name] = not ok and err or "no error"
            end
            uv.run()
            answer { errors = errors, left = #uv.leaks() }
        ]]
        for name, err in pairs(got.errors) do
            assert.match("cannot load its C library", err, name)
            assert.match("make build", err, name)
        end
        assert.equal(0, got.left)
    end)
end))

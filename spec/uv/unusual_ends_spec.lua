local child = require "spec.support.child"
local events = require "spec.support.uv_events"
local support = require "spec.support.uv"

-- Callbacks of each kind of handle and request that end in ways which no message handler sees.
describe("A callback of moonlap.uv that", support.with_uv(function()
    local HANDLED = events.frame .. [[
        local told = {}
        uv.set_error_handler(function(err)
            told[#told + 1] = tostring(err)
            uv.walk(function(handle)
                if not handle:is_closing() then handle:close() end
            end)
        end)
        local calls = 0
        local function fn()
            calls = calls + 1
            %s
        end
    ]]
    local AFTER = [[

        uv.run()
        local late, was_late = uv.new_timer(), false
        late:start(0, 0, function() was_late = true late:close() end)
        uv.run()
        assert(was_late, "the loop is not usable")
        print(calls, #told, told[1]:match "^[^\n]*")
    ]]

    local LITTLE_MEMORY = "timeout 60 prlimit --as=1500000000 "

    local function each(body, wanted, options)
        options = options or {}
        for name, code in pairs(events.kinds) do
            local done = child.with_folder(function(folder)
                local text = HANDLED:format(body) .. code .. AFTER
                if options.is_in_coroutine then
                    text = "coroutine.wrap(function() " .. text .. " end)()"
                end
                child.write(folder .. "/user.lua", text)
                return child.start(folder, {
                    args = { "user.lua" },
                    prefix = (options.prefix or "timeout 60 ") .. "0</dev/null ",
                })
            end)
            assert.equal(0, done.status, name .. ": " .. done.stderr)
            assert.match(wanted, done.stdout, name)
        end
    end

    it("recurses without end is an error, never silence", function()
        each("local function deeper() return 1 + deeper() end deeper()",
            "^1\t1\t.")
    end)

    it("exhausts memory is an error, never silence", function()
        each('return #("x"):rep(2e9)', "^1\t1\t.*not enough memory", { prefix = LITTLE_MEMORY })
    end)

    it("yields is an error, and the loop stays usable", function()
        each("coroutine.yield()", "^1\t1\t.*yield")
    end)

    it("yields is one in a coroutine, too", function()
        each("coroutine.yield()", "^1\t1\t.*yield", { is_in_coroutine = true })
    end)

    local function answer(code)
        return child.answer('local uv = require "moonlap.uv"\n' .. code)
    end

    it("runs out of memory without a handler ends the process in luv's words", function()
        local done = child.with_folder(function(folder)
            child.write(folder .. "/user.lua", [[
                local uv = require "moonlap.uv"
                uv.new_idle():start(function()
                    return #("x"):rep(2e9)
                end)
                uv.run()
                print "went on"
            ]])
            return child.start(folder, {
                args = { "user.lua" }, prefix = LITTLE_MEMORY .. "0</dev/null ",
            })
        end)
        assert.equal(255, done.status)
        assert.equal("", done.stdout)
        assert.match("^System Error: not enough memory", done.stderr)
    end)

    it("runs in no coroutine, wherever uv.run was called", function()
        assert.same({ outside = false, inside = false }, answer [[
            local seen = {}
            local function run(where)
                local timer = uv.new_timer()
                timer:start(0, 0, function()
                    seen[where] = coroutine.running() or false
                    timer:close()
                end)
                uv.run()
            end
            run "outside"
            coroutine.wrap(run) "inside"
            answer(seen)
        ]])
    end)

    it("fails in a coroutine is told by the position of its own line", function()
        local got = answer [[
            local told = {}
            uv.set_error_handler(function(err) told[#told + 1] = err:match "^[^\n]*" end)
            local timer = uv.new_timer()
            timer:start(0, 0, coroutine.wrap(function() timer:close() error "broken" end))
            uv.run()
            answer(told)
        ]]
        assert.equal(1, #got)
        assert.match("^[^:]*:%d+: broken$", got[1])
        assert.is_nil(got[1]:find("moonlap/uv", 1, true))
    end)
end))

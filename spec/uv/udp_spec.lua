local child = require "spec.support.child"
local support = require "spec.support.uv"

-- The same program under both: a socket sends to addresses, is connected, and sends to addresses
-- again.
local PROGRAM = [[
    local uv = require(%q)
    local a, b, c = uv.new_udp(), uv.new_udp(), uv.new_udp()
    for _, udp in ipairs { a, b, c } do assert(udp:bind("127.0.0.1", 0)) end
    local to_b, to_c = b:getsockname().port, c:getsockname().port
    local seen, left = {}, 7
    for own, udp in pairs { b = b, c = c } do
        udp:recv_start(function(err, data, from)
            assert(not err, err)
            if not data then return end
            assert(from.ip == "127.0.0.1")
            seen[#seen + 1] = data .. " at " .. own
            left = left - 1
            if left == 0 then a:close() b:close() c:close() end
        end)
    end
    local function tell(what, ...)
        local words = { what }
        for i = 1, select("#", ...) do words[i + 1] = tostring((select(i, ...))) end
        print((table.concat(words, " "):gsub(":%%d+%%]", "]")))
    end
    tell("first", a:try_send("1", "127.0.0.1", to_b))
    tell("other port", a:try_send("2", "127.0.0.1", to_c))
    tell("again", a:try_send("3", "127.0.0.1", to_b))
    tell("list", a:try_send({ "4", "5" }, "127.0.0.1", to_c))
    tell("without", pcall(a.try_send, a, "x", nil, nil))
    tell("no address", pcall(a.try_send, a, "x", "nowhere", to_b))
    tell("other family", pcall(a.try_send, a, "x", "::1", to_b))
    tell("connect", a:connect("127.0.0.1", to_b))
    tell("connected", a:try_send("6", nil, nil))
    tell("with address", a:try_send("x", "127.0.0.1", to_b))
    tell("disconnect", a:connect(nil, nil))
    tell("and again", a:try_send("7", "127.0.0.1", to_b))
    tell("large", (a:try_send(("x"):rep(70000), "127.0.0.1", to_b)))
    tell("last", a:try_send("8", "127.0.0.1", to_c))
    uv.run()
    table.sort(seen)
    print(table.concat(seen, ", "))
]]

describe("Datagrams of moonlap.uv", support.with_uv(function()
    local function run(module)
        return child.with_folder(function(folder)
            child.write(folder .. "/user.lua", PROGRAM:format(module))
            return child.start(folder,
                { args = { "user.lua" }, prefix = "timeout 60 0</dev/null " })
        end)
    end

    it("arrive where they are sent, connected or not, as luv's", function()
        local ours = run "moonlap.uv"
        assert.equal(0, ours.status, ours.stderr)
        assert.is_truthy(ours.stdout:find("1 at b, 2 at c, 3 at b, 45 at c, 6 at b, 7 at b, 8 at c",
            1, true))
        local theirs = run "luv"
        if theirs.status ~= 0 and theirs.stderr:find("module 'luv' not found", 1, true) then
            return pending "there is no luv to compare with: apt-get install lua-luv on Debian"
        end
        assert.equal(theirs.stdout, ours.stdout)
    end)

    it("wait for a handle that stops, and come when it starts again", function()
        local got = child.answer [[
            local uv = require "moonlap.uv"
            local a, b, seen = uv.new_udp(), uv.new_udp(), {}
            a:bind("127.0.0.1", 0)
            b:bind("127.0.0.1", 0)
            local function on(err, data, from)
                assert(not err, err)
                if not data then return end
                assert(from.port == a:getsockname().port)
                seen[#seen + 1] = data
                if data == "2" or data == "4" then
                    b:recv_stop()
                    b:recv_start(on) -- at once, in its own callback
                elseif data == "3" then
                    b:recv_stop()
                    local timer = uv.new_timer()
                    timer:start(1, 0, function()
                        timer:close()
                        seen[#seen + 1] = "again"
                        b:recv_start(on)
                    end)
                elseif data == "6" then -- the last ones are nobody's
                    a:close()
                    b:recv_stop()
                    b:close()
                end
            end
            b:recv_start(on)
            for i = 1, 8 do
                a:try_send(i == 5 and "" or tostring(i), "127.0.0.1", b:getsockname().port)
            end
            uv.run()
            answer(seen)
        ]]
        assert.same({ "1", "2", "3", "again", "4", "", "6" }, got)
    end)
end))

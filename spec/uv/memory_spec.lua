local child = require "spec.support.child"
local support = require "spec.support.uv"

-- The shim's allocations fail when the program says so, which no limit of the system does at a
-- chosen place.
local PRELUDE = [[
    local shim = require "moonlap.uv.ffi"
    local exhausted = false
    local function failing(name)
        return function(...)
            return not exhausted and shim[name](...) or nil
        end
    end
    package.loaded["moonlap.uv.ffi"] = setmetatable({
        uvshim_req = failing "uvshim_req", uvshim_handle = failing "uvshim_handle",
        uvshim_work_open = function(...)
            return exhausted and -12 or shim.uvshim_work_open(...)
        end,
    }, { __index = shim })
    local uv = require "moonlap.uv"
    local ended = 0
    local function done() ended = ended + 1 end
    local address = { ip = "127.0.0.1" }
    -- Handles that get their memory when they first need it.
    local function use(handle, method, ...)
        local ok, err = pcall(function(...) assert(handle[method](handle, ...)) end, ...)
        handle:close()
        uv.run "nowait"
        return ok or error(err, 0)
    end
    local CALLS = {
        fs_stat = function() uv.fs_stat(".", done) end,
        fs_opendir = function() uv.fs_opendir(".", done) end,
        fs_write = function() uv.fs_write(1, "", -1, done) end,
        getaddrinfo = function() uv.getaddrinfo("127.0.0.1", nil, nil, done) end,
        getnameinfo = function() uv.getnameinfo(address, done) end,
        random = function() uv.random(4, nil, done) end,
        queue_work = function() uv.new_work(function() end, done):queue() end,
        spawn = function() uv.spawn("true", {}, done) end,
        new_async = function() uv.new_async(done) end,
        fs_event_start = function() use(uv.new_fs_event(), "start", ".", {}, done) end,
        fs_poll_start = function() use(uv.new_fs_poll(), "start", ".", 1, done) end,
        udp_bind = function() use(uv.new_udp(), "bind", "127.0.0.1", 0) end,
        new_poll = function() uv.new_poll(0) end,
        new_signal = function() uv.new_signal() end,
        new_tty = function() uv.new_tty(0, true) end,
        new_tcp = function() uv.new_tcp "inet" end,
        new_udp = function() uv.new_udp "inet" end,
    }
]]

describe("moonlap.uv without memory for the shim", support.with_uv(function()
    it("raises an error where it is called, and leaves nothing behind", function()
        local seen = child.answer(PRELUDE .. [[
            local seen = { wrong = {}, calls = 0 }
            exhausted = true
            for name, call in pairs(CALLS) do
                seen.calls = seen.calls + 1
                local ok, err = pcall(call)
                if ok or not tostring(err):find "^user.lua:%d+: not enough memory$" then
                    seen.wrong[name] = tostring(err)
                end
            end
            uv.walk(function(handle) seen.wrong[tostring(handle)] = "is left" end)
            seen.alive = uv.run()
            seen.ended = ended
            seen.wrong = next(seen.wrong) and seen.wrong or false
            answer(seen)
        ]])
        assert.same({ wrong = false, calls = 17, alive = false, ended = 0 }, seen)
    end)

    it("ends what was begun before, and goes on when there is memory again", function()
        local seen = child.answer(PRELUDE .. [[
            local failed = 0
            for i = 1, 300 do
                exhausted = i % 3 == 0
                local ok = pcall(uv.fs_stat, ".", done)
                failed = failed + (ok and 0 or 1)
            end
            local tcp = uv.new_tcp()
            exhausted = true
            local bound = pcall(tcp.bind, tcp, "127.0.0.1", 0)
            exhausted = false
            local bound_then = tcp:bind("127.0.0.1", 0)
            tcp:close(done)
            uv.run()
            answer { failed = failed, ended = ended, bound = bound, bound_then = bound_then }
        ]])
        assert.same({ failed = 100, ended = 201, bound = false, bound_then = 0 }, seen)
    end)

    it("ends the process when records of completions found no memory", function()
        child.with_folder(function(folder)
            child.write(folder .. "/user.lua", [[
                local uv = require "moonlap.uv"
                local queue = require "moonlap.uv.queue"
                uv.fs_stat(".", function() end)
                queue.q.lost = 1 -- what the shim counts where realloc fails
                uv.run()
                print "went on"
            ]])
            local done = child.start(folder, { args = { "user.lua" }, prefix = "</dev/null" })
            assert.equal(255, done.status)
            assert.equal("", done.stdout)
            assert.match("out of memory, completions were lost", done.stderr)
        end)
    end)

    it("tells of them in each turn, whichever way it polled", function()
        local seen = child.answer [[
            local uv = require "moonlap.uv"
            local queue = require "moonlap.uv.queue"
            local told, ended = 0, 0
            uv.set_error_handler(function(err)
                assert(err:find "completions were lost", err)
                told = told + 1
            end)
            local function again()
                ended = ended + 1
                queue.q.lost = 1
                if ended < 200 then
                    uv.fs_stat(".", again)
                end
            end
            uv.fs_stat(".", again)
            uv.run()
            answer { told = told, ended = ended }
        ]]
        assert.equal(200, seen.ended)
        assert.is_true(seen.told >= 199, "told " .. seen.told)
    end)

    it("tells the error handler of them once, and goes on with the others", function()
        local seen = child.answer [[
            local uv = require "moonlap.uv"
            local told, ended = {}, 0
            uv.set_error_handler(function(err) told[#told + 1] = err:match "^[^\n]*" end)
            for _ = 1, 3 do
                uv.fs_stat(".", function() ended = ended + 1 end)
            end
            require("moonlap.uv.queue").q.lost = 1
            local alive = uv.run()
            answer { told = told, ended = ended, alive = alive }
        ]]
        assert.same({ told = { "moonlap.uv: out of memory, completions were lost" }, ended = 3,
            alive = false }, seen)
    end)
end))

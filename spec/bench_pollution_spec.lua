local child = require "spec.support.child"
local pollution = require "moonlap.bench.pollution"

local EVERY = 1e7 -- ns between two looks

-- Watches a file in place of /proc/stat; `body(watch, set)`, where set writes its text.
local function with_stat(body)
    local ffi = require "ffi"
    child.with_folder(function(folder)
        local path = folder .. "/stat"
        local function set(text)
            local file = assert(io.open(path, "w"))
            file:write(text)
            file:close()
        end
        set ""
        require "moonlap.bench.channel" -- declares close
        local watch = pollution.open()
        ffi.C.moonlap_close(watch.stat)
        watch.stat = ffi.C.moonlap_open(path, 0)
        body(watch, set)
        ffi.C.moonlap_close(watch.stat)
    end)
end

local function stat(steal)
    return ("cpu  10 2 30 400000000000 5 0 6 %d 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"):format(steal)
end

describe("pollution", function()
    it("sees steal since the last look, and looks every 10 ms", function()
        with_stat(function(watch, set)
            set(stat(100))
            assert.same({ true, false }, { watch:stolen(0) })
            set(stat(103))
            assert.same({ false, false }, { watch:stolen(EVERY - 1) })
            assert.same({ true, true }, { watch:stolen(EVERY) })
            assert.same({ true, false }, { watch:stolen(2 * EVERY) })
            set(stat(104))
            assert.same({ true, true }, { watch:stolen(3 * EVERY) })
        end)
    end)

    for name, text in pairs {
        ["a kernel too old to count steal"] = "cpu  10 2 30 4 5 6 7\ncpu0 1 2 3 4 5 6 7 8 9\n",
        ["an empty file"] = "",
    } do
        it("reports none from " .. name, function()
            with_stat(function(watch, set)
                set(text)
                assert.same({ true, false }, { watch:stolen(0) })
                assert.same({ true, false }, { watch:stolen(EVERY) })
            end)
        end)
    end

    it("counts this thread's involuntary switches as the kernel does", function()
        -- Two spinning processes on one CPU: each is switched away from now and then.
        local seen = child.answer([[
            local watch = require("moonlap.bench.pollution").open()
            local function kernel()
                for line in io.lines("/proc/thread-self/status") do
                    local n = line:match("^nonvoluntary_ctxt_switches:%s*(%d+)")
                    if n then return tonumber(n) end
                end
            end
            local before, counted, after
            repeat
                before, counted, after = kernel(), watch:switches(), kernel()
            until before >= 3
            answer {before = before, counted = counted, after = after}
        ]], { prefix = [[taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" sh -c '
            while :; do :; done & trap "kill $!" EXIT; "$@"' sh]] })
        assert.is_true(seen.before <= seen.counted, seen.counted)
        assert.is_true(seen.counted <= seen.after, seen.counted)
    end)

    it("allocates nothing when interpreted", function()
        local bytes = child.answer([[
            local watch = require("moonlap.bench.pollution").open()
            watch:stolen(0)
            collectgarbage() collectgarbage("stop")
            local before = collectgarbage("count")
            for i = 1, 1000 do watch:switches() watch:stolen(i * 1e7) end
            answer((collectgarbage("count") - before) * 1024 / 1000)
        ]], { jit = false })
        assert.is_true(bytes < 1, bytes)
    end)
end)

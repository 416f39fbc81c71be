-- making SIDE N: CPU ns to make and to close a handle of each kind, N of each.
local uv = require(arg[1])
local n = tonumber(arg[2])

for _, name in ipairs {
    "timer", "idle", "async", "signal", "fs_event", "fs_poll", "tcp", "udp", "pipe",
} do
    local make, handles = uv["new_" .. name], {}
    local argument = nil
    if name == "async" then
        argument = function() end
    elseif name == "pipe" then
        argument = false
    end
    local function make_all()
        for i = 1, n do
            handles[i] = make(argument)
        end
    end
    local function close_all()
        for i = 1, n do
            handles[i]:close()
        end
        uv.run()
    end
    make_all() -- the module is loaded, memory is there
    close_all()
    collectgarbage()
    collectgarbage "stop"
    local start = os.clock()
    make_all()
    local made = os.clock()
    close_all()
    print(("%-9s make %6.0f ns   close %6.0f ns"):format(name, (made - start) / n * 1e9,
        (os.clock() - made) / n * 1e9))
    collectgarbage "restart"
end

local support = require "spec.support.uv"

-- What luv 1.44.2 has, a line each: `fs_stat` is a function, `tcp:bind` a method.
local LIST = "spec/support/luv-1.44.2.txt"

-- One of each type that has methods, from the functions that there are.
local MAKE = {
    async = function(uv) return uv.new_async(function() end) end,
    check = function(uv) return uv.new_check() end,
    dir = function(uv) return uv.fs_opendir(".") end,
    fs = function(uv) return uv.fs_stat(".", function() end) end,
    fs_event = function(uv) return uv.new_fs_event() end,
    fs_poll = function(uv) return uv.new_fs_poll() end,
    idle = function(uv) return uv.new_idle() end,
    pipe = function(uv) return uv.new_pipe() end,
    poll = function(uv) return uv.new_poll(uv.pipe().read) end,
    prepare = function(uv) return uv.new_prepare() end,
    process = function(uv) return (uv.spawn("true", {})) end,
    req = function(uv) return uv.getaddrinfo("127.0.0.1", nil, nil, function() end) end,
    signal = function(uv) return uv.new_signal() end,
    tcp = function(uv) return uv.new_tcp() end,
    thread = function(uv) return uv.new_thread(function() end) end,
    timer = function(uv) return uv.new_timer() end,
    tty = function(uv) return uv.new_tty(uv.fs_open("/dev/ptmx", "r+", 0), false) end,
    udp = function(uv) return uv.new_udp() end,
}

describe("moonlap.uv has luv's", support.with_uv(function(uv)
    local functions, methods = {}, {}
    for line in io.lines(LIST) do
        local kind, method = line:match "^(.+):(.+)$"
        if kind then
            methods[kind] = methods[kind] or {}
            table.insert(methods[kind], method)
        else
            table.insert(functions, line)
        end
    end

    it("214 functions", function()
        assert.equal(214, #functions)
        local missing = {}
        for _, name in ipairs(functions) do
            if type(uv[name]) ~= "function" then
                table.insert(missing, name)
            end
        end
        assert.same({}, missing)
    end)

    for kind, names in pairs(methods) do
        it("methods of uv_" .. kind, function()
            if kind == "tty" then
                local terminal, why = uv.fs_open("/dev/ptmx", "r+", 0)
                if not terminal then
                    return pending("no terminal can be made: " .. why)
                end
                uv.fs_close(terminal)
            end
            local object = assert(MAKE[kind](uv))
            local missing = {}
            for _, name in ipairs(names) do
                local ok, method = pcall(function() return object[name] end)
                if not ok or type(method) ~= "function" then
                    table.insert(missing, name)
                end
            end
            if object.close then
                object:close()
            end
            uv.run()
            assert.same({}, missing)
        end)
    end
end))

describe("moonlap.uv", support.with_uv(function(uv)
    it("is a module of moonlap's", function()
        assert.equal(uv, require("moonlap").uv)
    end)

    it("says that it needs LuaJIT", function()
        local main = assert(loadfile "lua/moonlap/uv.lua")
        setfenv(main, setmetatable({ jit = false }, { __index = _G }))
        local ok, message = pcall(main, "moonlap.uv")
        assert.is_false(ok)
        assert.equal("moonlap.uv needs LuaJIT: run this with luajit", message)
    end)
end))

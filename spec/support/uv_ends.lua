--- How a callback may end, as Lua source: the same program under luv and under moonlap.uv has to
-- print the same, fail with the same words and end with the same status.
-- @module spec.support.uv_ends
local events = require "spec.support.uv_events"

local _M = {}

-- `quit()` closes everything, so that the loop ends.
local FRAME = [[
    local function quit()
        uv.walk(function(handle)
            if not handle:is_closing() then handle:close() end
        end)
    end
    local function show(...)
        local words = { select("#", ...) }
        for i = 1, select("#", ...) do
            local value = select(i, ...)
            words[#words + 1] = type(value) == "table" and "table"
                or tostring(value):gsub("0x%x+", "")
        end
        print(unpack(words))
    end
    local calls = 0
    local function fn(...)
        calls = calls + 1
        if calls > 1 then return end
]]

--- By name: the body of a callback.
_M.ends = {
    string = 'error "broken"',
    level_0 = 'error("broken", 0)',
    level_2 = 'error("broken", 2)',
    level_3 = 'error("broken", 3)',
    level_3_of_two = 'local function deeper() error("broken", 3) end deeper()',
    table = "error {}",
    words = 'error(setmetatable({}, { __tostring = function() return "broken" end }))',
    ["nil"] = "error()",
    ["false"] = "error(false)",
    number = "error(42)",
    assert = 'assert(false, "broken")',
    plain_assert = "assert(nil)",
    index = "local x return x.y",
    call = "nothing()",
    arithmetic = "return 1 + {}",
    tail = 'return error "broken"',
    wrap = 'coroutine.wrap(function() error "broken" end)()',
    resume = 'show(coroutine.resume(coroutine.create(function() error "broken" end))) quit()',
    dead = "local f = coroutine.wrap(function() end) f() f()",
    yield = "coroutine.yield()",
    yield_values = "coroutine.yield(1, 2)",
    running = "show(coroutine.running()) quit()",
    recursion = "local function deeper() return 1 + deeper() end deeper()",
    handler = 'xpcall(function() error "a" end, function() error "b" end) show(1) quit()',
    returns = "quit() return 1, nil, 3",
    wrong = 'uv.timer_start("x")',
    wrong_method = 'uv.new_timer():start("x")',
    wrong_caught = [[show(pcall(uv.timer_start, 1)) show(pcall(uv.fs_stat, {}))
        show(pcall(uv.new_tcp().bind, 1)) show(pcall(uv.close)) quit()]],
    close_twice = "local t = uv.new_timer() t:close() t:close()",
    close_again = "show(pcall(function() quit() quit() end))",
    exit = "os.exit(3)",
    stop = "quit() uv.stop()",
    arguments = "show(...) quit()",
    library = 'return ("x"):rep(-1, {}):gsub("x", nothing)',
    gsub = '("x"):gsub("x", function() error "broken" end)',
    sort = 'table.sort({ 3, 1, 2 }, function() error "broken" end)',
    meta = [[return setmetatable({}, { __index = function() error "broken" end }).x]],
    loadstring = 'loadstring("error \'broken\'", "=chunk")()',
}

-- A callback that is the function of a coroutine, a function of C, or none at all.
local OTHER = {
    wrapped = 'local fn = coroutine.wrap(function() error "broken" end)',
    c_error = "local fn = error",
    wrapped_yields = "local fn = coroutine.wrap(function() coroutine.yield() end)",
    object = "local fn = setmetatable({}, { __call = function() error 'broken' end })",
}

--- The program that ends so.
-- @tparam string module `luv` or `moonlap.uv`
-- @tparam string kind of `uv_events.kinds`
-- @tparam string name of `ends`, or of others
-- @treturn string Lua source
function _M.program(module, kind, name)
    local frame = events.frame:gsub('require "moonlap.uv"', ("require %q"):format(module))
    local body = OTHER[name] or FRAME .. "        " .. _M.ends[name] .. "\n    end\n"
    -- luv 1.44 may crash where it closes the state.
    return frame .. body .. events.kinds[kind]
        .. "\nuv.run()\nprint 'went on'\nio.stdout:flush()\nos.exit(0)\n"
end

--- Does a program say the same each time, and end?
-- @tparam string kind
-- @tparam string name
-- @treturn boolean
function _M.is_comparable(kind, name)
    local is_random = kind == "random" and name == "arguments"
    local is_endless = name == "wrapped_yields"
    return not is_random and not is_endless
end

--- All names, sorted.
-- @treturn {string,…}
function _M.names()
    local names = {}
    for name in pairs(_M.ends) do
        names[#names + 1] = name
    end
    for name in pairs(OTHER) do
        names[#names + 1] = name
    end
    table.sort(names)
    return names
end

return _M

--- How many arguments a call had. luv tells one that is missing ("got no value") from nil; a
-- function with named parameters cannot. So those are wrapped in functions that count, but for the
-- busiest, whose errors say "got nil" for both.
-- @module moonlap.uv.arity

local _M = {}

local select, type, getinfo = select, type, debug.getinfo

-- What programs call for each event or message.
local BUSY = {
    "accept", "close", "is_active", "is_closing", "new_pipe", "new_tcp", "new_udp", "read_start",
    "read_stop", "shutdown", "tcp_connect", "timer_again", "timer_start", "timer_stop",
    "try_write", "udp_send", "udp_try_send", "write",
}

local given = 0
-- The functions whose calls are counted; the wrapper itself is no longer on the stack then.
local counted = setmetatable({}, { __mode = "k" })

local function count(fn)
    counted[fn] = true
    return function(...)
        given = select("#", ...)
        return fn(...)
    end
end

--- Was an argument left out of the call that is under way?
-- @tparam function fn the function of ours that was called
-- @tparam number position
-- @treturn boolean false where it is not known
function _M.is_missing(fn, position)
    return counted[fn] ~= nil and position > given
end

--- Wraps functions, also where they are methods.
-- @tparam table all functions by name
-- @tparam {table,…} method_tables
function _M.install(all, method_tables)
    local instead = {}
    for _, name in ipairs(BUSY) do
        instead[all[name]] = all[name]
    end
    local function wrap(functions, are_methods)
        for name, fn in pairs(functions) do
            if type(fn) == "function" then
                if not instead[fn] then
                    -- Those with `...` can tell by themselves, but for the handle.
                    local info = getinfo(fn, "u")
                    local can_tell = not are_methods and (info.isvararg or info.nparams == 0)
                    instead[fn] = can_tell and fn or count(fn)
                end
                functions[name] = instead[fn]
            end
        end
    end
    for _, methods in ipairs(method_tables) do
        wrap(methods, true)
    end
    wrap(all, false)
end

return _M

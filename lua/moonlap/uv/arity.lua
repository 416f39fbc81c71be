--- How many arguments a call had. luv tells one that is missing ("got no value") from nil; a
-- function with named parameters cannot. So those are wrapped in functions that count, but for the
-- busiest, whose errors say "got nil" for both.
-- @module moonlap.uv.arity

local _M = {}

local select, getinfo = select, debug.getinfo

-- What programs call for each event or message.
local BUSY = {}
for name in ([[
    accept close is_active is_closing new_pipe new_tcp new_udp read_start read_stop shutdown
    tcp_connect timer_again timer_start timer_stop try_write udp_send udp_try_send write
]]):gmatch "%S+" do
    BUSY[name] = true
end

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

--- The function that counts its arguments; the same one where it need not.
-- @tparam function fn
-- @tparam string|nil name luv's, if it has one
-- @tparam boolean is_method it is called by its handle, which `...` does not tell of
-- @treturn function
function _M.wrap(fn, name, is_method)
    if BUSY[name] then
        return fn
    end
    local info = getinfo(fn, "u")
    local can_tell = not is_method and (info.isvararg or info.nparams == 0)
    return can_tell and fn or count(fn)
end

return _M

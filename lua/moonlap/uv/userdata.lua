--- Userdata with a number in them: handles that have no table of their own.
--
-- Lua can only make empty userdata, so the shim makes these, many at a time, and the FFI reads the
-- number, which LuaJIT compiles to one load. Where there is no shim, or the program hides Lua's C
-- API from it, the numbers stand in a table whose keys are weak.
-- @module moonlap.uv.userdata

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"

local _M = {}

local cast, newproxy, set_metatable = ffi.cast, newproxy, debug.setmetatable
local int_ptr = ffi.typeof "int32_t *"

local function in_c(name)
    local path = C.uvshim_path()
    return path ~= nil and package.loadlib(ffi.string(path), name)
end

local make = in_c "uvshim_userdata"

if make then
    --- The number in a userdata.
    -- @tparam userdata userdata of a kind made here
    -- @treturn number 0 when none was set
    function _M.number(userdata)
        return cast(int_ptr, userdata)[0]
    end

    --- Puts a number into a userdata.
    -- @tparam userdata userdata of a kind made here
    -- @tparam number number a whole one from 0 to 2^31-1
    function _M.set_number(userdata, number)
        cast(int_ptr, userdata)[0] = number
    end
else
    local numbers = setmetatable({}, { __mode = "k" })

    function make(into, like, n)
        for i = 1, n do
            into[i] = newproxy(like)
        end
    end

    function _M.number(userdata)
        return numbers[userdata] or 0
    end

    function _M.set_number(userdata, number)
        numbers[userdata] = number
    end
end

--- An empty userdata with a metatable of its own: in one call, which ends a trace, not two.
-- @function of
-- @tparam table metatable
-- @treturn userdata
_M.of = in_c "uvshim_object" or function(metatable)
    local userdata = newproxy()
    set_metatable(userdata, metatable)
    return userdata
end

--- A kind of userdata.
-- @treturn table the metatable that they share, empty
-- @treturn function(n) makes so many: returns a list of them
function _M.kind()
    local like = newproxy(true)
    return getmetatable(like), function(n)
        local into = {}
        make(into, like, n)
        return into
    end
end

return _M

--- Functions behind one of C, which LuaJIT does not compile across.
--
-- A compiled caller stays compiled, whatever the function does (csrc/uvshim/barrier.c). Where there
-- is no shim, or the program hides Lua's C API from it, the functions are as they are.
-- @module moonlap.uv.barrier

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"

local _M = {}

--- A function of the shim's that makes a function of C for one of Lua.
-- @tparam string name
-- @treturn function|nil
function _M.maker(name)
    local path = C.uvshim_path()
    return path ~= nil and package.loadlib(ffi.string(path), name) or nil
end

local make, make_on_main = _M.maker "uvshim_barrier", _M.maker "uvshim_main_barrier"

-- What was made, for errors that name the function which the user has called.
local made = setmetatable({}, { __mode = "k" })

local function with(maker_in_c, fn)
    if not maker_in_c then
        return fn
    end
    local barrier = maker_in_c(fn)
    made[barrier] = true
    return barrier
end

--- A function behind a barrier. A coroutine cannot yield in it.
-- @tparam function fn
-- @treturn function
function _M.of(fn)
    return with(make, fn)
end

--- The same for one that runs in the main coroutine, as far as that is known.
-- @tparam function fn
-- @treturn function
function _M.on_main(fn)
    return with(make_on_main, fn)
end

--- Notes another function of C that calls one of Lua.
-- @tparam function fn
function _M.note(fn)
    made[fn] = true
end

--- Is it such a function?
-- @param fn
-- @treturn boolean
function _M.is(fn)
    return made[fn] == true
end

return _M

--- Which loop calls the callbacks: one that LuaJIT compiles, or the same one interpreted.
--
-- A compiled loop inlines the callbacks. That is fastest for a few of them, but every further
-- prototype (function in the source) adds a side trace to the same exit, and from about forty on
-- the chain of guards costs more than the interpreter, which calls each callback's own trace. So
-- each kind of callback counts the prototypes it is given, and after a few turns for good to the
-- interpreted twin. Many closures of one prototype count once: LuaJIT compiles those well.
-- @module moonlap.uv.dispatch

local _M = {}

local getinfo = debug.getinfo
local type = type

-- Prototypes beyond which a kind turns, and how many registrations are looked at to count them.
-- Idle handles, timers and requests with two or three branches a callback break even between 32
-- and 64; longer callbacks have more side traces, of which a root trace may have a hundred.
local MOST = 24
local LOOKED_AT = 64

--- Another prototype of the same function, which is compiled on its own.
-- @tparam function fn without upvalues
-- @treturn function
function _M.copy(fn)
    return (assert(loadstring(string.dump(fn))))
end

--- A compiled function's interpreted twin.
-- @tparam function fn without upvalues
-- @treturn function the twin, never compiled
function _M.interpreted(fn)
    local twin = _M.copy(fn)
    jit.off(twin)
    return twin
end

--- Calls what may be nothing. Never compiled, so that the callback gets a trace of its own.
-- @param callback a function, or nil or false
-- @param ... its arguments
function _M.call(callback, ...)
    if callback then
        callback(...)
    end
end

jit.off(_M.call)

--- A place where callbacks of one kind are called.
-- @treturn table the site: `mixed` is true when the interpreted twin is the faster one
function _M.site()
    return { mixed = false, looked_at = 0, count = 0, seen = {} }
end

local function look_at(site, callback)
    site.looked_at = site.looked_at + 1
    if type(callback) ~= "function" then
        return
    end
    local info = getinfo(callback, "S")
    local prototype = info.source .. ":" .. info.linedefined .. ":" .. info.lastlinedefined
    if not site.seen[prototype] then
        site.seen[prototype] = true
        site.count = site.count + 1
        if site.count > MOST and not site.mixed then
            site.mixed = true
            site.looked_at = LOOKED_AT
        end
    end
end

-- Not compiled: so a trace of whoever registers callbacks waits until they are not looked at any
-- more, and then has no side trace for that.
jit.off(look_at)

--- Counts a callback that a site will call.
function _M.learn(site, callback)
    if site.looked_at < LOOKED_AT then
        look_at(site, callback)
    end
end

return _M

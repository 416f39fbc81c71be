--- Turns in which nothing but idle handles has anything to do, as one compiled loop.
--
-- An idle handle keeps the loop from waiting, so such turns are the only ones of which a program
-- may make ten million a second. The loop goes back to `moonlap.uv.turn` as soon as there is
-- anything else; and it is only used when LuaJIT compiles the callbacks (`moonlap.uv.dispatch`).
-- @module moonlap.uv.spin

local C = require "moonlap.uv.ffi"
local dispatch = require "moonlap.uv.dispatch"
local due = require "moonlap.uv.due"
local handle = require "moonlap.uv.handle"
local loop = require "moonlap.uv.loop"
local q = require("moonlap.uv.queue").q
local req = require "moonlap.uv.req"
local watcher = require "moonlap.uv.watcher"

local _M = {}

local idle, prepare, checks = watcher.idle, watcher.prepare, watcher.check
local floor = math.floor
local uvshim_glance = C.uvshim_glance
local now, work = loop.now, loop.work
local are_unfiled, earliest = due.are_unfiled, due.earliest

-- Changes of the list of idle handles up to which its callbacks are known to be plain.
local known = 0

-- Has this turn something for its other phases?
local function has_phases()
    return work.closing > 0 or work.writes > 0 or work.unheard or work.stashed > 0
        or prepare.n > 0 or checks.n > 0
        or ((handle.in_c > 0 or req.count > 0) and uvshim_glance(q) ~= 0)
end

-- Has the next one something else than idle handles, or these are not the same?
local function is_over()
    if idle.changes ~= known or idle.n > idle.active or loop.refs <= 0 or loop.stopped
        or are_unfiled() then
        return true
    end
    loop.stale = true
    local time = earliest()
    return time < 1 / 0 and time <= now()
end

-- Calls idle handles, from `idle.at` downwards. After the last of a turn it returns true when this
-- turn goes on in other phases; false when it is over, and the next one is another's. Also returns
-- how many turns are left.
local function spin(turns)
    if turns == 0 then
        return true, 0
    end
    local callbacks = idle.callbacks
    while true do
        local at = idle.at
        if at == 0 then
            turns = turns - 1
            if has_phases() then
                return true, turns
            elseif turns <= 0 or is_over() then
                return false, turns
            end
            at = idle.n
        end
        idle.at = at - 1
        local callback = callbacks[at]
        if callback then
            callback()
        end
    end
end

local site = dispatch.site(spin)

-- Calls: enough to be compiled, few enough that it is not tried often in vain.
local TRIAL, MOST = 150, 1e5

--- Runs the phase of idle handles, and whole turns of them where that can be: for a mode of
-- `uv.run` with many turns.
-- @treturn boolean does the turn go on? false: it is over
function _M.run()
    if not site.is_proved or idle.changes ~= known then
        local n = idle.active
        watcher.run(idle)
        if dispatch.is_time(site, n) then
            known = idle.changes
            dispatch.looked(site, watcher.are_plain(idle, site))
        elseif site.is_proved and idle.changes ~= known then
            site.is_proved, site.wait = false, site.patience
        end
        return true
    end
    if idle.at < 0 then
        idle.at = idle.n
    end
    local n, turns = idle.n, floor((site.is_compiled and MOST or TRIAL) / idle.n) + 1
    local goes_on, left = spin(turns)
    idle.at = -1
    dispatch.has_run(site, (turns - left) * n)
    return goes_on
end

jit.off(_M.run)

return _M

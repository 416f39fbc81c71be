--- Functions of nginx that the script gets in another form.
-- @module moonlap.run.replace
local _M = {}


--- Replaces a function of `ngx` in timers, where the script runs. In the requests that a server in
-- the user's directives answers it stays what it is.
-- @tparam string name
-- @tparam function ours
function _M.in_timers(name, ours)
    local theirs, phase = ngx[name], ngx.get_phase
    ngx[name] = function(...)
        if phase() == "timer" then
            return ours(...)
        end
        return theirs(...)
    end
end


return _M

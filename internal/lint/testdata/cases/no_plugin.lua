-- Names of phases alone make no plugin.
local _M = {priority = 1}

function _M.log(message)
    ngx.say(message)
end

return _M

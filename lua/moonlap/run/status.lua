--- Exit statuses of a script in an nginx worker.
-- @module moonlap.run.status
local replace = require "moonlap.run.replace"

local _M = {
    OK = 0,
    ERROR = 1,
    PIPE = 141, -- nobody reads stdout any more: what a shell says of SIGPIPE
}


--- The exit status that stands for what `ngx.exit` was called with.
-- @tparam[opt=0] int code `ngx.OK`, `ngx.ERROR`, …, an HTTP status, or an exit status below 200
-- @treturn int 0 for success: `ngx.OK`, `ngx.DONE`, HTTP statuses from 200 to 299
function _M.of(code)
    code = tonumber(code) or 0
    if code == ngx.DONE or code >= 200 and code < 300 then
        return _M.OK
    elseif code < 0 or code >= 300 then
        return _M.ERROR
    end
    return code
end


--- Makes `ngx.exit` end the script: in a timer it would end the handler and leave the
-- worker waiting.
function _M.install()
    replace.in_timers("exit", function(code)
        os.exit(_M.of(code))
    end)
end


return _M

-- Finds cosockets in nginx.conf whose failures nginx logs, though Lua gets the error, too.
local names = require "moonlap.lint.names"

local USES = {"ngx%.socket%.", "[\"']resty%.redis", "[\"']resty%.mysql", "[\"']resty%.memcached",
    "[\"']resty%.http", "[\"']pgmoon"}

return {conf = function(file, conf)
    for _, phase in ipairs {"rewrite", "access", "content", "server_rewrite", "ssl_certificate"} do
        conf:each(phase .. "_by_lua_block", function(d)
            if names.mentions(d.lua, USES) and not conf:holds(d, "lua_socket_log_errors") then
                file:report(d, "each failure of a cosocket is written to error_log, though Lua "
                    .. "gets it, too: lua_socket_log_errors off, where the code handles it")
            end
        end)
    end
end}

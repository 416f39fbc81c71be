-- Finds cosockets in nginx.conf whose failures nginx logs, though Lua gets the error, too.
local USES = {"ngx%.socket%.", "[\"']resty%.redis", "[\"']resty%.mysql", "[\"']resty%.memcached",
    "[\"']resty%.http", "[\"']pgmoon"}

local function uses_sockets(text)
    for _, pattern in ipairs(USES) do
        if text:find(pattern) then
            return true
        end
    end
    return false
end

return {conf = function(file, conf)
    for _, phase in ipairs {"rewrite", "access", "content", "server_rewrite", "ssl_certificate"} do
        conf:each(phase .. "_by_lua_block", function(d)
            if uses_sockets(d.lua) and not conf:holds(d, "lua_socket_log_errors") then
                file:report(d, "each failure of a cosocket is written to error_log, though Lua is "
                    .. "told of it: lua_socket_log_errors off, where the code handles it")
            end
        end)
    end
end}

-- Finds lua_code_cache off.
return {conf = function(file, conf)
    conf:each("lua_code_cache", function(d)
        if d.args[1] == "off" then
            file:report(d, "lua_code_cache off: every request gets a Lua VM of its own, loads all "
                .. "modules and shares nothing; leave it out in production")
        end
    end)
end}

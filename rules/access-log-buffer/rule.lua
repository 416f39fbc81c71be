-- Finds access logs that are written line by line.
return {conf = function(file, conf)
    conf:each("access_log", function(d)
        local path = d.args[1] or ""
        if path == "off" or path:find "^syslog:" or path:find "^/dev/" then
            return
        end
        for _, word in ipairs(d.args) do
            if word:find "^buffer=" or word:find "^gzip" then
                return
            end
        end
        if path:find("$", 1, true) then
            file:report(d, "access_log with a variable in its path: nginx opens the file anew for "
                .. "each line, unless open_log_file_cache holds it")
        else
            file:report(d, "access_log without buffer=: one write for each request; buffer=32k "
                .. "flush=1s collects them")
        end
    end)
end}

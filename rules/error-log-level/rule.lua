-- Finds error logs that write what is of no use in production.
local NOISY = {debug = true, info = true}

return {conf = function(file, conf)
    conf:each("error_log", function(d)
        local level = d.args[2] and d.args[2]:match "^debug" or d.args[2]
        if NOISY[level] then
            file:report(d, string.format("error_log of level %s: each line is a write, and every "
                .. "ngx.log of that level builds its text; use warn or notice", level))
        end
    end)
end}

-- Finds shared dicts of less than a megabyte.
local UNITS = {k = 1024, m = 1024 ^ 2, g = 1024 ^ 3}

return {conf = function(file, conf)
    conf:each("lua_shared_dict", function(d)
        local number, unit = (d.args[2] or ""):match "^(%d+)([kKmMgG]?)$"
        local size = number and tonumber(number) * (UNITS[unit:lower()] or 1)
        if size and size < 1024 ^ 2 then
            file:report(d, string.format("the shared dict %s has %s, for about %d entries of 100 "
                .. "bytes: a full one drops the least recently used; make it larger",
                d.args[1], d.args[2],
                math.max(1, math.floor(size / 256))))
        end
    end)
end}

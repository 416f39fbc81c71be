-- A counter in a local, an upvalue, a table's field and a stray global.
local moonlap = require "moonlap"

local upvalue = 0
local module = {count = 0}
counter = 0 -- luacheck: ignore 111

moonlap.bench("local", function()
    local count = 0
    for _ = 1, 100 do
        count = count + 1
    end
    return count
end)

moonlap.bench("upvalue", function()
    for _ = 1, 100 do
        upvalue = upvalue + 1
    end
    return upvalue
end)

moonlap.bench("field", function()
    for _ = 1, 100 do
        module.count = module.count + 1
    end
    return module.count
end)

moonlap.bench("global", function()
    for _ = 1, 100 do
        counter = counter + 1 -- luacheck: ignore 111 113
    end
    return counter -- luacheck: ignore 113
end)

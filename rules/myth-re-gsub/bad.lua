-- moonlap: --phase content
local moonlap = require "moonlap"

local text, names = "dear $name, your order $order is on $way", {name = "ada", order = "4711"}
local function value(name)
    return names[name] or ""
end

moonlap.bench("fill", function()
    moonlap.keep((string.gsub(text, "%$(%w+)", value)))
end)

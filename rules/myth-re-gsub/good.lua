-- moonlap: --phase content
local moonlap = require "moonlap"

local text, names = "dear $name, your order $order is on $way", {name = "ada", order = "4711"}
local function value(m)
    return names[m[1]] or ""
end

moonlap.bench("fill", function()
    moonlap.keep((ngx.re.gsub(text, [[\$(\w+)]], value, "jo")))
end)

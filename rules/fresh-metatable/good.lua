local moonlap = require "moonlap"

local class = {get = function(self) return self.x end}
local mt = {__index = class}

moonlap.bench("object", function()
    local o = setmetatable({x = 1}, mt)
    moonlap.keep(o:get())
end)

local moonlap = require "moonlap"

local class = {get = function(self) return self.x end}

moonlap.bench("object", function()
    local o = setmetatable({x = 1}, {__index = class})
    moonlap.keep(o:get())
end)

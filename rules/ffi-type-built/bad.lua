local moonlap = require "moonlap"
local ffi = require "ffi"

local length = 16

moonlap.bench("new", function()
    moonlap.keep(ffi.new("char[" .. length .. "]"))
end)

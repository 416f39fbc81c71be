local moonlap = require "moonlap"
local ffi = require "ffi"

moonlap.bench("new", function(_, i)
    moonlap.keep(ffi.new("char[?]", i % 8 + 8))
end)

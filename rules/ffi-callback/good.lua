local moonlap = require "moonlap"
local ffi = require "ffi"

local key, base = ffi.new("int[1]", 42), ffi.new("int[1]", 42)
local function compare(a, b)
    return a[0] - b[0]
end

moonlap.bench("compare", function(_, i)
    key[0] = i
    return compare(key, base) == 0
end)

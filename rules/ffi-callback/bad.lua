local moonlap = require "moonlap"
local ffi = require "ffi"

ffi.cdef [[
void *bsearch(const void *, const void *, size_t, size_t, int (*)(const int *, const int *));
]]

local key, base = ffi.new("int[1]", 42), ffi.new("int[1]", 42)
local compare = ffi.cast("int (*)(const int *, const int *)", function(a, b)
    return a[0] - b[0]
end)

moonlap.bench("compare", function(_, i)
    key[0] = i
    return ffi.C.bsearch(key, base, 1, 4, compare) ~= nil
end)

local moonlap = require "moonlap"
local ffi = require "ffi"

ffi.cdef "int getpid(void);"

moonlap.bench("declare", function()
    return ffi.C.getpid()
end)

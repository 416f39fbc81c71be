local moonlap = require "moonlap"
local ffi = require "ffi"

moonlap.bench("declare", function()
    ffi.cdef "int getpid(void);"
    return ffi.C.getpid()
end)

-- What costs nothing must read nothing.
local moonlap = require "moonlap"
local C = require("ffi").C

require("ffi").cdef "int abs(int);"

moonlap.bench("nothing", function() end)

moonlap.bench("its turn", function(_, i)
    return i
end)

-- Compiled Lua calls are inlined and cost nothing; a C function is really called.
moonlap.bench("a C call", function(_, i)
    return C.abs(i)
end)

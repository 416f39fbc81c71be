local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"

local function computes()
    local x = 0
    for i = 1, 1e5 do x = (x * 31 + i) % 1000003 end
    return x
end

local function allocates()
    local t = {}
    for i = 1, 500 do t[i] = { i, tostring(i) } end
    return #t
end

local function blocks()
    ffi.C.usleep(1000)
end

-- A request takes some seconds: to start a client program for each short one would cost an emulated
-- processor more than all this.
return function()
    for _ = 1, 40 do
        ngx.print(computes() + allocates())
        ngx.shared.cats:incr("served", 1, 0)
        blocks()
        ngx.sleep(0.05)
    end
end

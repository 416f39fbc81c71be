local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"

local function computes()
    local x = 0
    for i = 1, 2e5 do x = (x * 31 + i) % 1000003 end
    return x
end

local function allocates()
    local t = {}
    for i = 1, 2000 do t[i] = { i, tostring(i) } end
    return #t
end

local function blocks()
    ffi.C.usleep(1000)
end

return function()
    local x = computes() + allocates()
    ngx.shared.cats:incr("served", 1, 0)
    blocks()
    ngx.sleep(0.001)
    ngx.say(x)
end

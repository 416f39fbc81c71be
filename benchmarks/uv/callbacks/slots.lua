-- How many FFI callbacks there can be at a time.
local ffi = require "ffi"
local kept = {}
while true do
    local ok, callback = pcall(ffi.cast, "void (*)(void)", function() end)
    if not ok then
        print(("%d callbacks, then: %s"):format(#kept, callback))
        break
    end
    kept[#kept + 1] = callback
end

--- luv's functions for the file system: `uv.fs_*`.
--
-- Without a callback a function returns its result, or `nil, text, name`; with one it returns
-- the request, and the callback gets `err, result`.
-- @module moonlap.uv.fs
local _M = {}
_M.api = {}

for _, part in ipairs { "file", "attributes", "links", "dir" } do
    for name, func in pairs(require("moonlap.uv.fs_" .. part).api) do
        _M.api[name] = func
    end
end


return _M

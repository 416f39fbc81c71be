--- Places in source code: whose they are, and how they're written.
-- @module moonlap.bench.place
jit.off(true, true)

local _M = {}

local getinfo = debug.getinfo

-- The folder of this library, as sources begin that were loaded from it.
local LIBRARY = getinfo(1, "S").source:match("^@(.*)bench/place%.lua$") or "@"
-- What calls the user's code: below it on the stack there is only the runtime's entry, a
-- chunk of nginx's configuration or of luajit's command line.
local CALLER = LIBRARY .. "bench/process.lua"
local GENERATED = "^moonlap %l+$" -- what moonlap.bench.loop makes


--- A chunk's source without the mark that LuaJIT puts before it.
-- @tparam string source as `debug.getinfo` says it
-- @treturn string a file's path, or a chunk's name
function _M.file(source)
    local first = source:sub(1, 1)
    if first == "@" or first == "=" then
        return source:sub(2)
    end
    return source
end


--- Whether a file is this library's.
-- @tparam string file
-- @treturn boolean
function _M.is_library(file)
    return file:sub(1, #LIBRARY) == LIBRARY
end


--- Whether a file is a loop that was generated for a case.
-- @tparam string file
-- @treturn boolean
function _M.is_generated(file)
    return file:find(GENERATED) ~= nil
end


--- Whether a file, as LuaJIT shortens it for messages, is this library's or generated.
-- @tparam string file
-- @treturn boolean
function _M.is_ours(file)
    return _M.is_library(file) or _M.is_generated(file)
        or file:find("^%.%.%..*moonlap/bench/%l+%.lua$") ~= nil
end


--- The innermost place on the stack that is the user's: neither this library's nor C.
-- @tparam int level where to begin, as for `debug.getinfo` in the caller
-- @treturn string file
-- @treturn int line
-- @treturn[2] nil
function _M.of_user(level)
    for l = level + 1, 200 do
        local info = getinfo(l, "Sl")
        if not info then
            return nil
        end
        local file = _M.file(info.source)
        if file == CALLER then
            return nil
        end
        if info.currentline > 0 and not _M.is_library(file) and not _M.is_generated(file) then
            return file, info.currentline
        end
    end
    return nil
end


return _M

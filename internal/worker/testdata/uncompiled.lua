-- What LuaJIT does not compile, each for another cause, at /CAUSE; the tests know the lines.
local _M = {}

local turns = 20000

function _M.closure()
    local sum = 0
    for i = 1, turns do
        local add = function() return i end
        sum = sum + add()
    end
    return sum
end

local function off()
    local sum = 0
    for i = 1, turns do
        sum = sum + i % 7
    end
    return sum
end
jit.off(off)
_M.off = off

-- A trace that goes round, and a way that none can be made for.
function _M.branch()
    local n = 0
    for i = 1, turns do
        local x = i % 3 == 0 and "1" or i
        if x == "1" then
            local f = function() return n end
            n = n + f() % 5
        end
    end
    return n
end

function _M.stitch()
    local n = 0
    for i = 1, turns do
        local s = string.gsub("abc", "b", "d")
        n = n + #s + i
    end
    return n
end

-- What follows a call with an open number of results does not go on in another trace.
function _M.ended()
    local n = 0
    for i = 1, turns do
        n = n + select(2, string.gsub("abc", "b", "d")) + i
    end
    return n
end

-- Each chunk's loop is a trace of its own.
local source = [[local n = 0
for i = 1, 200 do n = n + i %% %d end
return n]]
function _M.many()
    for i = 1, 500 do
        _M[i] = _M[i] or loadstring(source:format(i), "=many")
        _M[i]()
    end
end

-- Where no side trace is made, the trace of one way is left each other time.
function _M.leaving()
    local n = 0
    for i = 1, turns do
        if i % 2 == 0 then
            n = n + 3
        else
            n = n - 1
        end
    end
    return n
end

function _M.hooked()
    debug.sethook(function() end, "", 1000000)
    return _M.leaving()
end

return _M

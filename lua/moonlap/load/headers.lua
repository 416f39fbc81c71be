--- The table of a response's headers that scripts get, made only when they look into it.
--
-- Until then it holds the head's text under a key of its own. `pairs` and `next` of the script's
-- state know such tables; @{fill} makes a plain table of one.
-- @module moonlap.load.headers
local _M = {}

local gmatch = string.gmatch
local getmetatable, setmetatable, rawget = getmetatable, setmetatable, rawget
local pairs, next = pairs, next

local TEXT = {} -- the key
local lazy = {}


-- What the last head that was looked into says. Most responses have the head of the one before.
local last, parsed


-- Names as they were sent; of equal names the last.
local function parse(text)
    if text ~= last then
        parsed = {}
        for name, value in gmatch(text, "\n([^:\r\n]+):[ \t]*([^\r\n]*)") do
            parsed[name] = value
        end
        last = text
    end
    return parsed
end


--- Makes a plain table of one.
function _M.fill(headers)
    local text = rawget(headers, TEXT)
    headers[TEXT] = nil
    setmetatable(headers, nil)
    for name, value in pairs(parse(text)) do
        headers[name] = value
    end
    return headers
end

local fill = _M.fill


function lazy.__index(headers, key)
    if key == TEXT then
        return nil
    end
    return parse(rawget(headers, TEXT))[key]
end


function lazy.__newindex(headers, key, value)
    fill(headers)[key] = value
end


--- The table of a head's text.
function _M.new(text)
    return setmetatable({ [TEXT] = text }, lazy)
end


--- `pairs` for scripts.
function _M.pairs(t)
    if getmetatable(t) == lazy then
        fill(t)
    end
    return pairs(t)
end


--- `next` for scripts.
function _M.next(t, key)
    if getmetatable(t) == lazy then
        fill(t)
    end
    return next(t, key)
end


return _M

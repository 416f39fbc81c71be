--- JSON encoder for the record stream. Encodes only: nothing in the VM reads JSON.
-- @module moonlap.json
jit.off(true, true) -- or encoding would draw on the traces and the JIT's dice

local _M = {}

local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local concat, sort = table.concat, table.sort
local floor, huge = math.floor, math.huge
local getmetatable, pairs, setmetatable = getmetatable, pairs, setmetatable
local tostring, type = tostring, type


local ARRAY = {}

local ESCAPES = {
    ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f",
    ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
}


--- Marks a table as an array, so that an empty one encodes as `[]`.
-- @tparam table t a sequence
-- @treturn table the same table
function _M.array(t)
    return setmetatable(t, ARRAY)
end


local function escape(c)
    return ESCAPES[c] or format("\\u%04x", byte(c))
end


-- First bytes whose second byte is bounded closer than 0x80 to 0xBF: overlong forms,
-- surrogates, and what lies beyond U+10FFFF are not UTF-8.
local SECOND_LEAST = {[0xE0] = 0xA0, [0xF0] = 0x90}
local SECOND_MOST = {[0xED] = 0x9F, [0xF4] = 0x8F}


-- Length of the well-formed UTF-8 sequence at i, or nil when there is none.
local function sequence_length(s, i)
    local b = byte(s, i)
    if b < 0x80 then
        return 1
    end
    local n = b >= 0xC2 and b <= 0xDF and 2 or b >= 0xE0 and b <= 0xEF and 3
        or b >= 0xF0 and b <= 0xF4 and 4
    if not n then
        return nil
    end
    local least, most = SECOND_LEAST[b] or 0x80, SECOND_MOST[b] or 0xBF
    for k = i + 1, i + n - 1 do
        local c = byte(s, k)
        if not c or c < least or c > most then
            return nil
        end
        least, most = 0x80, 0xBF
    end
    return n
end


-- A Lua string is bytes, a JSON string is Unicode: stray bytes become U+FFFD.
local function to_utf8(s)
    if not find(s, "[\128-\255]") then
        return s
    end
    local out, i = {}, 1
    while i <= #s do
        local n = sequence_length(s, i)
        out[#out + 1] = n and s:sub(i, i + n - 1) or "\239\191\189"
        i = i + (n or 1)
    end
    return concat(out)
end


local function encode_number(x)
    if x ~= x or x == huge or x == -huge then
        return "null"
    end
    if x == floor(x) and x < 2 ^ 53 and x > -2 ^ 53 then
        return format("%.0f", x)
    end
    return format("%.9g", x)
end


local encode

local function is_array(t)
    return getmetatable(t) == ARRAY or #t > 0
end


local function encode_table(t, out)
    if is_array(t) then
        out[#out + 1] = "["
        for i = 1, #t do
            if i > 1 then
                out[#out + 1] = ","
            end
            encode(t[i], out)
        end
        out[#out + 1] = "]"
        return
    end

    local keys = {}
    for k in pairs(t) do
        keys[#keys + 1] = tostring(k)
    end
    sort(keys)
    out[#out + 1] = "{"
    for i, k in ipairs(keys) do
        if i > 1 then
            out[#out + 1] = ","
        end
        encode(k, out)
        out[#out + 1] = ":"
        encode(t[k], out)
    end
    out[#out + 1] = "}"
end


function encode(v, out)
    local kind = type(v)
    if kind == "string" then
        out[#out + 1] = '"' .. gsub(to_utf8(v), '[%c"\\\127]', escape) .. '"'
    elseif kind == "number" then
        out[#out + 1] = encode_number(v)
    elseif kind == "boolean" then
        out[#out + 1] = tostring(v)
    elseif kind == "table" then
        encode_table(v, out)
    elseif kind == "nil" then
        out[#out + 1] = "null"
    else
        error("cannot encode a " .. kind .. " as JSON")
    end
end


--- Encodes a value. Table keys come out sorted; a table with items from 1 on, or
-- marked with @{array}, is an array, any other an object. NaN and infinities are null.
-- @param v nil, boolean, number, string, or a table of these
-- @treturn string one line of JSON
function _M.encode(v)
    local out = {}
    encode(v, out)
    return concat(out)
end


return _M

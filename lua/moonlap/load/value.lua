--- Lua values as text that another Lua state reads: what goes between the processes of a run.
-- @module moonlap.load.value
local _M = {}

local concat, format, huge = table.concat, string.format, math.huge
local tostring, type = tostring, type

local MOST_DEPTH = 100


local function number_text(x)
    if x ~= x then
        return "0/0"
    elseif x == huge then
        return "1/0"
    elseif x == -huge then
        return "-1/0"
    end
    return format("%.17g", x)
end


local append

local function append_table(value, out, path, depth)
    if depth > MOST_DEPTH then
        return nil, "tables nested more than " .. MOST_DEPTH
            .. " deep, or a table that holds itself"
    end
    out[#out + 1] = "{"
    for k, v in pairs(value) do
        local name = path .. "[" .. tostring(k) .. "]"
        if type(k) == "table" then
            return nil, "a table as key in " .. path
        end
        out[#out + 1] = "["
        local ok, err = append(k, out, name, depth + 1)
        if not ok then
            return nil, err
        end
        out[#out + 1] = "]="
        ok, err = append(v, out, name, depth + 1)
        if not ok then
            return nil, err
        end
        out[#out + 1] = ","
    end
    out[#out + 1] = "}"
    return true
end


function append(value, out, path, depth)
    local kind = type(value)
    if kind == "string" then
        -- %q leaves a carriage return as it is, and reading a chunk makes a newline of it
        out[#out + 1] = (format("%q", value):gsub("\r", "\\r"):gsub("%z", "\\0"))
    elseif kind == "number" then
        out[#out + 1] = number_text(value)
    elseif kind == "boolean" or kind == "nil" then
        out[#out + 1] = tostring(value)
    elseif kind == "table" then
        return append_table(value, out, path, depth)
    else
        return nil, "a " .. kind .. " cannot go to another thread: " .. path
    end
    return true
end


--- A value as text.
-- @param value nil, boolean, number, string, or a table of these
-- @tparam[opt="value"] string path what it is called in errors
-- @treturn string; or nil and why it cannot go
function _M.encode(value, path)
    local out = {}
    local ok, err = append(value, out, path or "value", 0)
    if not ok then
        return nil, err
    end
    return concat(out)
end


--- The value of a text that @{encode} made.
function _M.decode(text)
    return assert(loadstring("return " .. text, "=(value)"))()
end


return _M

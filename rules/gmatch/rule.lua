-- Finds loops over string.gmatch that split at one character.

local SHOWN = {["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"'}

-- The character, where a pattern splits at it: "[^,]+", "([^,]*)", "(.-),"
local function separator(pattern)
    local char = pattern:match "^%(?%[%^(%%?[^%w%s%%%]])%][%+%*]%)?$"
        or pattern:match "^%(?%[%^( )%][%+%*]%)?$"
        or pattern:match "^%(%.%-%)(%%?[^%w%%])$"
    return char and char:gsub("^%%", "")
end

return {visit = {Forin = function(file, node)
    local call = node[2][1]
    local pattern
    if call.tag == "Call" and file:name(call[1]) == "string.gmatch" then
        pattern = call[3]
    elseif call.tag == "Invoke" and call[2][1] == "gmatch" then
        pattern = call[3]
    end
    local char = pattern and pattern.tag == "String" and separator(pattern[1])
    if char and file:compiled("string.gmatch") ~= "compiled" and file:deals_with_requests() then
        file:report(call, string.format("string.gmatch is not compiled: string.find(s, \"%s\", "
            .. "from, true) is, and finds the same separators", SHOWN[char] or char))
    end
end}}

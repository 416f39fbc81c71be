-- Finds patterns that are plain text but for escapes.
local function plain(pattern)
    local text = pattern:gsub("%%(%p)", "")
    return pattern:find("%%%p") and not text:find "[%^%$%(%)%%%.%[%]%*%+%-%?]"
end

local function check(file, node, pattern, count)
    if count == 0 and pattern and pattern.tag == "String" and plain(pattern[1])
        and file:deals_with_requests() and file:compiled("string.find") == "arguments" then
        local text = pattern[1]:gsub("%%(%p)", "%1")
        file:report(node, string.format("the pattern %q is plain text: string.find(s, %q, 1, true) "
            .. "is compiled", pattern[1], text))
    end
end

return {visit = {
    Call = function(file, call)
        if file:name(call[1]) == "string.find" then
            check(file, call, call[3], #call - 3)
        end
    end,
    Invoke = function(file, node)
        if node[2][1] == "find" then
            check(file, node, node[3], #node - 3)
        end
    end,
}}

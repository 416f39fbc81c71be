-- Finds ngx.re calls with a constant pattern and without the options "j" and "o".
local OPTIONS_AT = {match = 3, find = 3, gmatch = 3, sub = 4, gsub = 4}

local function constant(node)
    if node.tag == "Id" and node.var and node.var.sets == 0 then
        node = node.var.value or node
    end
    return node.tag == "String" and node[1] or nil
end

-- Tells whether what takes the place of a match is a function, or the same in each call. With "o"
-- each text of it is kept, and takes a place among lua_regex_cache_max_entries.
local function one_replacement(node)
    local var = node.tag == "Id" and node.var
    if var and var.sets <= (var.given and 1 or 0) then
        node = var.value or var.given or node
    end
    return node.tag == "String" or node.tag == "Function"
end

local function check(file, call)
    local name = file:name(call[1])
    local what = name and name:match "^ngx%.re%.(%a+)$"
    local at = what and OPTIONS_AT[what]
    local pattern = at and call[3]
    if not pattern or not constant(pattern) then
        return
    end
    local given = call[at + 1]
    local options = ""
    if given and given.tag ~= "Nil" then
        options = constant(given)
        if not options then
            return
        end
    elseif #call < at then
        return -- an argument before it is missing, or comes from a call
    end
    if at == 4 and not one_replacement(call[4]) then
        return
    end
    -- PCRE has no machine code for "d".
    local missing = (options:find "[jd]" and "" or "j") .. (options:find "o" and "" or "o")
    if missing == "" then
        return
    end
    local fix
    if given and given.tag == "String" then
        fix = {{from = given.offset, to = given.end_offset,
            text = string.format("%q", options .. missing)}}
    elseif not given and #call == at then
        local last = call[at]
        if last.tag == "String" or last.tag == "Id" then
            fix = {{from = last.end_offset + 1, to = last.end_offset, text = ', "jo"'}}
        end
    end
    file:report(call, string.format('ngx.re.%s without "%s": the pattern is compiled again, or '
        .. "interpreted, in each call", what, missing), {fix = fix})
end

return {visit = {Call = check}}

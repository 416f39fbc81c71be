-- Finds DEBUG and INFO logs whose arguments take work, which is done though the log is filtered.
local LOW = {["ngx.DEBUG"] = "DEBUG", ["ngx.INFO"] = "INFO"}
local LOGGERS = {
    ["kong.log.debug"] = "debug", ["kong.log.info"] = "info",
    ["@apisix.core.log.debug"] = "debug", ["@apisix.core.log.info"] = "info",
    ["@apisix.core.log"] = "?",
}

-- Functions that make text of values; their last names.
local EXPENSIVE = {
    encode = true, encode_json = true, inspect = true, dump = true, format = true, concat = true,
    serialize = true, pretty = true, tableToString = true, to_json = true, pformat = true,
}

local function last_name(file, node)
    if node.tag == "Invoke" then
        return node[2][1]
    end
    local name = file:name(node[1])
    if not name and node[1].tag == "Id" then
        name = node[1][1]
    elseif not name and node[1].tag == "Index" and node[1][2].tag == "String" then
        name = node[1][2][1]
    end
    return name and name:match "[^.@]+$"
end

-- Tells whether all of an expression is constant: such a log takes no work that varies.
local function constant(node)
    return node.tag == "String" or node.tag == "Number"
        or node.tag == "Op" and node[1] == "concat" and constant(node[2]) and constant(node[3])
end

-- What an argument does that a filtered log need not: nil is nothing.
local function work(file, node)
    if node.tag == "Paren" then
        return work(file, node[1])
    elseif node.tag == "Op" and node[1] == "concat" and not constant(node) then
        return "joins text with '..'"
    elseif node.tag == "Call" or node.tag == "Invoke" then
        local name = last_name(file, node)
        return name and EXPENSIVE[name] and "calls " .. name .. "()"
    end
end

return {visit = {Call = function(file, call)
    if file.guarded > 0 then
        return
    end
    local name = file:name(call[1])
    local level, from
    if name == "ngx.log" and call[2] then
        level, from = LOW[file:name(call[2])], 3
    elseif name and LOGGERS[name] then
        level, from = LOGGERS[name], 2
    end
    if not level then
        return
    end
    for i = from, #call do
        local what = work(file, call[i])
        if what then
            return file:report(call, string.format("a %s log %s before anybody knows whether it "
                .. "is written: pass the values as arguments, or ask for the level first",
                level, what))
        end
    end
end}}

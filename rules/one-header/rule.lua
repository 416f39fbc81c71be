-- Finds tables of all headers or arguments that are made for the sake of one or two.
local INSTEAD = {
    ["ngx.req.get_headers"] = {"headers", "ngx.var.http_"},
    ["ngx.req.get_uri_args"] = {"arguments", "ngx.var.arg_"},
    ["ngx.resp.get_headers"] = {"headers", "ngx.var.sent_http_"},
}

local MOST_KEYS = 2

local function variable(prefix, key)
    local word = key:lower():gsub("-", "_")
    return word:find "^[%w_]+$" and prefix .. word
end

local function made(file, node)
    if node.tag == "Call" and #node <= 2 then
        return INSTEAD[file:name(node[1])]
    end
end

-- Tells whether the program asks for the type of a value: it knows that there may be several.
local function typed(file, node)
    local parent = node.parent
    if not parent then
        return false
    elseif parent.tag == "Call" then
        return file:name(parent[1]) == "type"
    elseif parent.tag == "Local" then
        for i, value in ipairs(parent[2]) do
            local var = value == node and parent[1][i] and parent[1][i].var
            for _, id in ipairs(var and var.uses or {}) do
                if typed(file, id) then
                    return true
                end
            end
        end
    end
    return false
end

-- The constant keys by which a variable is read, where it is used in no other way.
local function keys_of(file, var)
    local keys, count = {}, 0
    for _, id in ipairs(var.uses) do
        local index = id.parent
        local key = index and index.tag == "Index" and index[1] == id and index[2]
        if not key or key.tag ~= "String" or index.assigned or typed(file, index) then
            return nil
        end
        if not keys[key[1]] then
            count = count + 1
            keys[key[1]], keys[count] = true, key[1]
        end
    end
    return keys, count
end

local function report(file, node, what, key)
    local name = variable(what[2], key)
    if name then
        file:report(node, string.format("a table of all %s is made for one: %s has it, as text",
            what[1], name))
    end
end

return {visit = {
    Index = function(file, node)
        local what = made(file, node[1])
        if what and node[2].tag == "String" and not node.assigned and not typed(file, node) then
            report(file, node, what, node[2][1])
        end
    end,
    Local = function(file, node)
        for i, id in ipairs(node[1]) do
            local value = node[2] and node[2][i]
            local what = value and made(file, value)
            if what and id.var.sets == 0 then
                local keys, count = keys_of(file, id.var)
                if keys and count >= 1 and count <= MOST_KEYS then
                    report(file, value, what, keys[1])
                end
            end
        end
    end,
}}

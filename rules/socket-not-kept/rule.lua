-- Finds connections that one function makes, and closes or leaves, and none keeps.
local CLIENTS = {["ngx.socket.tcp"] = true}
local LIBRARIES = {"@resty.redis", "@resty.mysql", "@resty.memcached", "@resty.http",
    "@pgmoon"}

-- Tells whether an expression makes a client: `ngx.socket.tcp()`, `redis:new()`, `http.new()`.
local function makes_client(file, node)
    if node.tag == "Call" then
        local known = file:name(node[1])
        if CLIENTS[known] then
            return true
        end
        for _, library in ipairs(LIBRARIES) do
            if known == library .. ".new" then
                return true
            end
        end
    elseif node.tag == "Invoke" and node[2][1] == "new" then
        local known = file:name(node[1])
        for _, library in ipairs(LIBRARIES) do
            if known == library then
                return true
            end
        end
    end
    return false
end

-- Tells whether a function opens its connection on purpose: to see whether a peer is there, or for
-- a protocol that ends with QUIT.
local function on_purpose(file, func)
    local text = file:text(func.node)
    return text:find "[hH]ealth" ~= nil or text:find "QUIT" ~= nil
end

-- Tells whether nothing but the function that makes a client has it: what it does with it is all.
local function stays(var)
    for _, id in ipairs(var.uses) do
        if id.within ~= var.func or id.parent.tag ~= "Invoke" or id.parent[1] ~= id then
            return false
        end
    end
    return var.sets == 0
end

return {visit = {Invoke = function(file, node)
    local var = node[1].tag == "Id" and node[1].var
    if var and var.value and makes_client(file, var.value) then
        local here = file:here()
        here[var] = here[var] or {}
        local done = here[var]
        local method = node[2][1]
        if method == "receive" and node[3] and node[3].tag == "String"
            and node[3][1]:find "^%*?a" then
            done.to_the_end = true -- until the other side closes
        end
        -- A close in a branch may be that of what failed.
        if method ~= "close" or not file.branch then
            done[method] = done[method] or node
        end
    end
end}, leave = function(file, func)
    for var, done in pairs(func.data[file.rule] or {}) do
        local kept = done.setkeepalive or done.set_keepalive or done.keepalive
        if done.connect and not kept and not done.to_the_end and not on_purpose(file, func) then
            if done.close then
                file:report(done.close, "the connection is closed, and the next request opens it "
                    .. "again: setkeepalive puts it into the pool", {func = func})
            elseif stays(var) then
                file:report(done.connect, "the connection is left to end, and the next request "
                    .. "opens it again: setkeepalive puts it into the pool", {func = func})
            end
        end
    end
end}

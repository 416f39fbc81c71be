-- Finds operations on one key of a shared dict that one operation does.
local names = require "moonlap.lint.names"

-- By what comes first and what comes behind it.
local ONE = setmetatable({
    get = {get = "is read again: keep its value in a local"},
    set = {expire = "gets its time in a step of its own: set(key, value, exptime) does both"},
    add = {incr = "is made and counted in two steps: incr(key, n, init) makes it where it is "
        .. "missing"},
    incr = {expire = "gets its time in a step of its own: incr(key, n, init, init_ttl) does both"},
}, {__index = function() return {} end})

local FIRST = {"get", "set", "add", "incr"}

-- Functions during which nothing else runs, and no value of a dict becomes stale.
local QUICK = {
    tonumber = true, tostring = true, type = true, ["ngx.log"] = true, ["ngx.now"] = true,
    ["ngx.time"] = true, assert = true, ["string.format"] = true,
}

-- Tells whether an expression has one value wherever it stands in its function.
local function fixed(node)
    local tag = node.tag
    if tag == "Id" then
        return node.var ~= nil and node.var.sets == 0
    elseif tag == "Op" then
        return fixed(node[2]) and (not node[3] or fixed(node[3]))
    end
    return tag == "String" or tag == "Number"
end

-- Keeps what may wait, or change a dict: behind it another value may be there.
local function may_wait(file, call)
    local here = file:here()
    here.calls = here.calls or {}
    here.calls[#here.calls + 1] = call
end

-- Tells whether such a call ended between two places.
local function waited(calls, from, to)
    for _, call in ipairs(calls or {}) do
        if call.end_offset > from and call.end_offset < to then
            return true
        end
    end
    return false
end

-- Tells whether one operation, of the second's kind, does what both do.
local function one(file, before, method, node)
    if not before or not ONE[before.method][method] or before.loop ~= file.loop
        or not file:above(before.branch, file.branch) then
        return false
    elseif method == "get" then
        return not waited(file:here().calls, before.node.end_offset, node.offset)
    end
    -- Behind a count the time is often renewed: only that of a new key can be given with it.
    return before.method ~= "incr" or before.branch ~= file.branch
end

local function note(file, node)
    local dict, method, key = names.dict(node[1]), node[2][1], node[3]
    if not dict or method ~= "get" then
        may_wait(file, node)
    end
    if not dict or dict == "?" or not key or not fixed(key) then
        return
    end
    local here = file:here()
    local of_key = dict .. " " .. file:text(key)
    here[of_key] = here[of_key] or {}
    for _, first in ipairs(FIRST) do
        local before = here[of_key][first]
        if one(file, before, method, node) then
            file:report(node, string.format("%s of the shared dict %s %s", file:text(key), dict,
                ONE[before.method][method]))
            break
        end
    end
    here[of_key][method] = {method = method, node = node, branch = file.branch, loop = file.loop}
end

return {classes = {"request", "timer"}, visit = {Invoke = note, Call = function(file, call)
    if not QUICK[file:name(call[1])] then
        may_wait(file, call)
    end
end}}

--- What an expression means, as a dotted name: `ngx.re.find`, `@cjson.safe.encode`.
--
-- Locals are followed to what they were declared with, where nothing else is ever assigned to
-- them, so that `local find = ngx.re.find` hides nothing. A module is `@` and what it is required
-- as, but Lua's own keep their names, as `io`. What cannot be known has no name: a rule that needs
-- one stays silent.
-- @module moonlap.lint.names
local _M = {}

local ipairs = ipairs
local find, match, sub = string.find, string.match, string.sub

-- More steps than any program takes; a tree has no cycles, but long chains cost time.
local MOST_STEPS = 20

local REQUIRE = "require"
local OWN = {io = true, math = true, os = true, string = true, table = true}

local name


local function required(call, steps)
    local f, module = call[1], call[2]
    local called = name(f, steps)
    if called == REQUIRE and module and module.tag == "String" then
        return OWN[module[1]] and module[1] or "@" .. module[1]
    end
end


-- `table.unpack or unpack` is either way the same function.
local function either(node, steps)
    local a, b = name(node[2], steps), name(node[3], steps)
    if a and b and match(a, "[^.]+$") == match(b, "[^.]+$") then
        return #a < #b and a or b
    end
end


function name(node, steps)
    if steps > MOST_STEPS then
        return nil
    end
    local tag = node.tag
    if tag == "Id" then
        local var = node.var
        if not var then
            return node[1]
        end
        if var.meaning == nil then
            var.meaning = false -- while it is looked for
            if var.sets == 0 and var.value then
                local value = var.value.tag
                if value == "Id" or value == "Index" or value == "Call" or value == "Op"
                    or value == "Paren" then
                    var.meaning = name(var.value, steps + 1) or false
                end
            end
        end
        return var.meaning or nil
    elseif tag == "Index" then
        local key = node[2]
        if key.tag == "String" then
            local base = name(node[1], steps + 1)
            return base and base .. "." .. key[1]
        end
    elseif tag == "Call" then
        return required(node, steps + 1)
    elseif tag == "Paren" then
        return name(node[1], steps + 1)
    elseif tag == "Op" and node[1] == "or" then
        return either(node, steps + 1)
    end
end


--- The dotted name of an expression.
-- @tparam table node
-- @treturn string or nil
function _M.of(node)
    local known = node.name
    if known == nil then -- many rules ask for the same
        known = name(node, 0) or false
        if known and sub(known, 1, 3) == "_G." then
            known = sub(known, 4)
        end
        node.name = known
    end
    return known or nil
end


--- The name of the shared dict that an expression is: `ngx.shared.cats` is "cats".
-- @treturn string or nil; "?" where it is one, but which is not known
function _M.dict(node)
    local known = _M.of(node)
    if known then
        return match(known, "^ngx%.shared%.([^.]+)$")
    end
    if node.tag == "Id" and node.var and node.var.sets == 0 and node.var.value then
        node = node.var.value
    end
    if node.tag == "Index" and _M.of(node[1]) == "ngx.shared" then
        return "?"
    end
end


--- Tells whether a text matches one of some patterns.
-- @tparam string text
-- @tparam table patterns
function _M.mentions(text, patterns)
    for _, pattern in ipairs(patterns) do
        if find(text, pattern) then
            return true
        end
    end
    return false
end


--- Tells whether a name belongs to a module or library: "@resty.http.new" to "@resty.http".
function _M.within(known, library)
    return known == library or find(known, library .. ".", 1, true) == 1
end


return _M

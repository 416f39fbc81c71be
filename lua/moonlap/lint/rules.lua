--- Loads rules and calls them.
--
-- A rule's file, `rules/NAME/rule.lua`, returns a table:
--
--     classes   classes of code that it speaks in; default {"request"}
--     visit     functions by tag of node: function(file, node)
--     leave     function(file, func): behind the last node of a function
--     finish    function(file): at the end of a file
--     conf      function(file, conf): of nginx.conf
-- @module moonlap.lint.rules
local _M = {}

local find, format = string.find, string.format
local ipairs, pairs, pcall, type = ipairs, pairs, pcall, type
local sethook = debug.sethook

-- Instructions that a rule of the user's may take in one call: about a second.
local MOST_STEPS = 1e8
local TOO_LONG = "it takes more than 100,000,000 steps, and is left out from here on"


local function stop()
    error(TOO_LONG, 2)
end


-- Calls a function that may never end.
local function watched(f, ...)
    sethook(stop, "", MOST_STEPS)
    local ok, result = pcall(f, ...)
    sethook()
    if not ok then
        error(result, 0)
    end
    return result
end


--- Tells whether an error is of a rule that took too long.
function _M.took_too_long(err)
    return type(err) == "string" and find(err, TOO_LONG, 1, true) ~= nil
end


local function check(rule)
    if type(rule) ~= "table" then
        return "it returns no table"
    end
    for key, kind in pairs {visit = "table", leave = "function", finish = "function",
        conf = "function", classes = "table"} do
        if rule[key] ~= nil and type(rule[key]) ~= kind then
            return format("%s is a %s, not a %s", key, type(rule[key]), kind)
        end
    end
end


--- Loads a rule.
-- @tparam string name of its folder
-- @tparam string source of its rule.lua
-- @tparam string path that errors name
-- @tparam boolean own whether it is the user's, and might never end
-- @treturn table the rule, with `name` and `in_class`
-- @treturn[2] nil
-- @treturn[2] string why not
function _M.load(name, source, path, own)
    local chunk, err = load(source, "@" .. name .. "/rule.lua", "t")
    if not chunk then
        return nil, err
    end
    local ok, rule
    if own then
        jit.off(chunk, true) -- compiled loops would never come to the hook
        ok, rule = pcall(watched, chunk)
    else
        ok, rule = pcall(chunk)
    end
    if not ok then
        return nil, tostring(rule)
    end
    local wrong = check(rule)
    if wrong then
        return nil, path .. ": " .. wrong
    end
    rule.name, rule.in_class, rule.own = name, {}, own
    for _, class in ipairs(rule.classes or {"request"}) do
        rule.in_class[class] = true
    end
    return rule
end


local function entry(rule, f)
    local call = f
    if rule.own then
        call = function(file, subject)
            return watched(f, file, subject)
        end
    end
    return {rule = rule.name, call = call}
end


--- Puts the functions of rules in order, by what they are called for: `visit` by tag of node,
-- `leave`, `finish`, `conf`, each a list of {rule = name, call = function}.
-- @tparam table list of rules
-- @tparam[opt] table failed names of rules to leave out
function _M.prepare(list, failed)
    local ready = {visit = {}, leave = {}, finish = {}, conf = {}, by_name = {}}
    local left_out = {}
    for _, name in ipairs(failed or {}) do
        left_out[name] = true
    end
    for _, rule in ipairs(list) do
        ready.by_name[rule.name] = rule
        if not left_out[rule.name] then
            for tag, f in pairs(rule.visit or {}) do
                ready.visit[tag] = ready.visit[tag] or {}
                table.insert(ready.visit[tag], entry(rule, f))
            end
            for _, kind in ipairs {"leave", "finish", "conf"} do
                if rule[kind] then
                    table.insert(ready[kind], entry(rule, rule[kind]))
                end
            end
        end
    end
    return ready
end


--- Calls what the rules have in one of the lists of `prepare`.
function _M.call(list, file, subject)
    for i = 1, #list do
        file.rule = list[i].rule
        list[i].call(file, subject)
    end
end


return _M

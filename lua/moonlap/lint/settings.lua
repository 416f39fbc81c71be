--- Reads `.moonlap.lua`: a table, made by Lua that can reach nothing else.
-- @module moonlap.lint.settings
local json = require "moonlap.json"

local _M = {}

local format = string.format
local ipairs, pairs, pcall, type = ipairs, pairs, pcall, type

local CLASSES = {request = true, init = true, timer = true, cli = true, test = true}
local MOST_STEPS = 1e6 -- instructions of a file that is a table


local function is_text(list, what)
    if type(list) ~= "table" then
        return what .. " is a list of texts"
    end
    for _, text in ipairs(list) do
        if type(text) ~= "string" then
            return what .. " is a list of texts"
        end
    end
end


local checks = {}

function checks.rules(rules)
    if type(rules) ~= "table" then
        return "rules is a table: {[\"closure-in-loop\"] = false}"
    end
    for name, on in pairs(rules) do
        if type(name) ~= "string" or type(on) ~= "boolean" then
            return format("rules: %s is true or false", tostring(name))
        end
    end
end

function checks.classes(classes)
    if type(classes) ~= "table" then
        return "classes is a list: {{\"bin/**\", \"cli\"}}"
    end
    for i, pair in ipairs(classes) do
        if type(pair) ~= "table" or type(pair[1]) ~= "string" or not CLASSES[pair[2]] then
            return format("classes: entry %d is {\"PATTERN\", \"CLASS\"}, with the class request, "
                .. "init, timer, cli or test", i)
        end
    end
end

function checks.exclude(list)
    return is_text(list, "exclude")
end

function checks.rule_folders(list)
    return is_text(list, "rule_folders")
end


local function wrong(message)
    local line, text = tostring(message):match "^%.moonlap%.lua:(%d+): (.*)$"
    return nil, {line = tonumber(line) or 1, message = text or tostring(message)}
end


--- Evaluates the settings.
-- @tparam string text of the file
-- @treturn table `rules`, `classes`, `exclude`, `rule_folders`, as the file has them
-- @treturn[2] nil
-- @treturn[2] table `line`, `message`
function _M.read(text)
    local chunk, err = load(text, "=.moonlap.lua", "t", {})
    if not chunk then
        return wrong(err)
    end
    jit.off(chunk, true) -- compiled loops would never come to the hook
    debug.sethook(function()
        error("it takes more than " .. MOST_STEPS .. " steps", 2)
    end, "", MOST_STEPS)
    local ok, settings = pcall(chunk)
    debug.sethook()
    if not ok then
        return wrong(settings)
    elseif type(settings) ~= "table" then
        return wrong "it returns no table: begin with 'return {'"
    end
    local known = {}
    for key, value in pairs(settings) do
        local check = checks[key]
        if not check then
            return wrong(format("there is no setting %q: rules, classes, exclude, rule_folders",
                tostring(key)))
        end
        local fault = check(value)
        if fault then
            return wrong(fault)
        end
        known[key] = value
    end
    for _, key in ipairs {"classes", "exclude", "rule_folders"} do
        if known[key] then
            json.array(known[key])
        end
    end
    return known
end


return _M

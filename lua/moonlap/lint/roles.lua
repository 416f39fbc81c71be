--- When a function runs: at load, in a timer, or on the path of requests.
--
-- The class of a file is that of its path. Inside it a module's own chunk runs once, when it is
-- loaded, and so do functions with the names below. A function that is given to a timer is a
-- timer's. A local function runs when those run that call it, where all of them are known.
-- @module moonlap.lint.roles
local names = require "moonlap.lint.names"

local _M = {}

local find = string.find
local ipairs, pairs, setmetatable, type = ipairs, pairs, setmetatable, type

-- Functions that are called once in the life of a worker, by their last name.
local AT_LOAD = {
    init = true, init_worker = true, init_by_lua = true, init_worker_by_lua = true,
    http_init = true, http_init_worker = true, stream_init = true, stream_init_worker = true,
    init_master = true, configure = true, setup = true, check_schema = true, destroy = true,
    load_config = true,
}

local TIMERS = {["ngx.timer.at"] = true, ["ngx.timer.every"] = true}

-- Methods of Kong's timers, which have names of their own for them.
local TIMER_METHODS = {at = true, every = true, named_at = true, named_every = true}

-- Functions that call what they are given while the caller runs.
local AT_ONCE = {
    ["pcall"] = true, ["xpcall"] = true, ["ngx.thread.spawn"] = true,
    ["coroutine.create"] = true, ["coroutine.wrap"] = true,
}


-- Tells whether a call hands functions to a timer.
local function starts_timer(node)
    if node.tag == "Invoke" then
        local of = TIMER_METHODS[node[2][1]] and names.of(node[1])
        return of and find(of, "timer", 1, true) ~= nil
    end
    local called = names.of(node[1])
    return called and (TIMERS[called] or find(called, "%.register_timer$")) and true or false
end


--- Notes in a chunk which functions are given a name, and which a timer calls.
-- `node.known_as` is a function's last name, `node.timed` tells of a timer's, and `node.timer` of
-- a call that starts one. A handler
-- of a plugin has `handles`, its phase.
local note

local function note_all(list)
    for _, node in ipairs(list) do
        if type(node) == "table" then
            note(node)
        end
    end
end

local function given(target, value)
    if value.tag == "Function" then
        local last = target.tag == "Index" and target[2] or target
        if last.tag == "Id" or last.tag == "String" then
            value.known_as = last[1]
        end
    end
end

-- Notes of the functions in `init = {before = function() … end}` that they run at load.
local function load_all(list)
    if list.tag == "Table" then
        for _, part in ipairs(list) do
            local value = part.tag == "Pair" and part[2] or part
            if value.tag == "Function" then
                value.at_load = true
            end
        end
    end
end

function note(node)
    local tag = node.tag
    if tag == "Set" or tag == "Local" or tag == "Localrec" then
        for i, value in ipairs(node[2] or {}) do
            if node[1][i] then
                given(node[1][i], value)
            end
        end
    elseif tag == "Pair" then
        given(node[1], node[2])
        if AT_LOAD[node[1][1]] then
            load_all(node[2])
        end
    elseif (tag == "Call" or tag == "Invoke") and starts_timer(node) then
        node.timer = true
        for i = 2, #node do
            if node[i].tag == "Function" then
                node[i].timed = true
            end
        end
    end
    note_all(node)
end



-- Phases in which plugins' handlers are called, by the fields that tell whose plugin it is.
local PLUGINS = {
    {marks = {"PRIORITY"}, phases = { -- Kong's
        init_worker = "init_worker", rewrite = "rewrite", access = "access",
        header_filter = "header_filter", body_filter = "body_filter", log = "log",
    }},
    {marks = {"priority", "name", "version"}, phases = { -- APISIX's
        rewrite = "access", access = "access", before_proxy = "access",
        header_filter = "header_filter", body_filter = "body_filter",
        delayed_body_filter = "body_filter", log = "log",
    }},
}

-- The fields that a chunk gives to the table which it returns: value by name.
local function fields_of_module(chunk)
    local fields, statements = {}, chunk[2]
    local last = statements[#statements]
    local module = last and last.tag == "Return" and last[1] and last[1].var
    if not module then
        return fields
    end
    for _, pair in ipairs(module.value and module.value.tag == "Table" and module.value or {}) do
        if pair.tag == "Pair" and pair[1].tag == "String" then
            fields[pair[1][1]] = pair[2]
        end
    end
    for _, statement in ipairs(statements) do
        for i, target in ipairs(statement.tag == "Set" and statement[1] or {}) do
            if target.tag == "Index" and target[1].var == module and target[2].tag == "String" then
                fields[target[2][1]] = statement[2][i]
            end
        end
    end
    return fields
end

local function has_all(fields, marks)
    for _, mark in ipairs(marks) do
        if fields[mark] == nil then
            return false
        end
    end
    return true
end

-- Notes `handles`, the phase in which Kong or APISIX calls a function of a plugin.
local function note_handlers(chunk)
    local fields = fields_of_module(chunk)
    for _, plugin in ipairs(PLUGINS) do
        if has_all(fields, plugin.marks) then
            for name, phase in pairs(plugin.phases) do
                local value = fields[name]
                if value and value.var and value.tag == "Id" and value.var.sets == 0 then
                    value = value.var.value
                end
                if value and value.tag == "Function" then
                    value.handles = phase
                end
            end
        end
    end
end

function _M.note(chunk)
    note(chunk)
    note_handlers(chunk)
end


local class_of

-- The class of those that call a local function: nil where something else may.
local function by_callers(file, var)
    local class
    for _, id in ipairs(var.uses) do
        local parent = id.parent
        local caller
        if not parent or parent.tag ~= "Call" and parent.tag ~= "Invoke" then
            return nil
        elseif parent.timer then
            caller = "timer"
        elseif parent.tag == "Call" and (parent[1] == id or AT_ONCE[names.of(parent[1])]) then
            caller = class_of(file, id.within)
        else
            return nil
        end
        if caller == "request" then
            return caller
        elseif caller then -- false is a function that calls itself
            class = class == "timer" and class or caller
        end
    end
    return class
end


-- The class of the known callers of a function that is a local's; nil where others may call it.
local function of_callers(file, node)
    local var = node.var
    local only = var and var.sets == (var.given and 1 or 0)
    return only and by_callers(file, var) or nil
end


-- What is known of a function that is no chunk.
local function inside(file, node)
    local class = file.class
    if class == "test" or class == "cli" then
        return class
    elseif node.timed then
        return "timer"
    end
    local tag = node.parent and node.parent.tag
    local outer = (tag == "Call" or tag == "Invoke") and class_of(file, node.outer)
    local called = of_callers(file, node)
    if outer == "timer" or not node.outer.chunk and outer == "init" then
        return outer -- what the caller is given; one that is returned or kept runs whenever
    elseif called == "timer" or class ~= "request" then
        return called == "timer" and called or class
    elseif AT_LOAD[node.known_as] or node.at_load then
        return "init"
    end
    return called or class
end


function class_of(file, node)
    if node.class == nil then
        node.class = false -- while it is looked for
        if not node.chunk then
            node.class = inside(file, node)
        elseif file.class == "request" and not file.phase then
            node.class = "init" -- a module's chunk runs when it is first required
        else
            node.class = file.class
        end
    end
    return node.class
end


local phases_of

local function add_phases(file, node, phases)
    if node.chunk then
        phases:add(file.phase)
    elseif node.timed then
        phases:add "timer"
    elseif node.handles then
        phases:add(node.handles)
    elseif of_callers(file, node) then
        for _, id in ipairs(node.var.uses) do
            local call = id.parent
            if call.timer then
                phases:add "timer"
            elseif call.tag == "Call" and (call[1] == id or AT_ONCE[names.of(call[1])]) then
                phases_of(file, id.within, phases)
            end
        end
    elseif node.parent and node.parent.tag == "Call" and AT_ONCE[names.of(node.parent[1])] then
        phases_of(file, node.outer, phases)
    end
end

function phases_of(file, node, phases)
    if not phases.seen[node] then
        phases.seen[node] = true
        add_phases(file, node, phases)
    end
end

local Phases = {}
Phases.__index = Phases

function Phases:add(phase)
    if phase and not self.known[phase] then
        self.known[phase] = true
        self[#self + 1] = phase
    end
end

--- The phases in which a function is known to run: that of its block of nginx.conf, of a handler
-- of Kong's or APISIX's plugins, `timer`, and those of the code that calls it at once. One that is
-- kept in a table or a global may run in others, too.
-- @tparam table file
-- @tparam table node the Function node, or the chunk
-- @treturn table list of names, empty where nothing is known
function _M.phases(file, node)
    if not node.phases then
        node.phases = setmetatable({seen = {}, known = {}}, Phases)
        phases_of(file, node, node.phases)
    end
    return node.phases
end


--- The class of a function: request, init, timer, cli or test.
-- @tparam table file
-- @tparam table node the Function node, or the chunk
-- @treturn string
_M.of_function = class_of


return _M

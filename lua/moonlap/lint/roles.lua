--- When a function runs: at load, in a timer, or on the path of requests.
--
-- The class of a file is that of its path. Inside it a module's own chunk runs once, when it is
-- loaded, and so do functions with the names below; a function that is given to `ngx.timer` is a
-- timer's.
-- @module moonlap.lint.roles
local names = require "moonlap.lint.names"

local _M = {}

local ipairs = ipairs

-- Functions that are called once in the life of a worker, by their last name.
local AT_LOAD = {
    init = true, init_worker = true, init_by_lua = true, init_worker_by_lua = true,
    configure = true, setup = true, check_schema = true, destroy = true, load_config = true,
}

local TIMERS = {["ngx.timer.at"] = true, ["ngx.timer.every"] = true}


--- Notes in a chunk which functions are given a name, and which a timer calls.
-- `node.known_as` is a function's last name, `node.timed` tells of a timer's.
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
    elseif tag == "Call" and TIMERS[names.of(node[1])] then
        local f = node[3]
        if f and f.tag == "Id" and f.var and f.var.value then
            f = f.var.value
        end
        if f and f.tag == "Function" then
            f.timed = true
        end
    end
    note_all(node)
end

_M.note = note


--- The class of a function: request, init, timer, cli or test.
-- @tparam table file
-- @tparam table node the Function node
-- @tparam table|nil outer the function around it
-- @treturn string
function _M.of_function(file, node, outer)
    if node.chunk then
        if file.class == "request" and not file.phase then
            return "init" -- a module's chunk runs when it is first required
        end
        return file.class
    elseif node.timed then
        return "timer"
    elseif outer.class == "timer" or not outer.node.chunk and outer.class == "init" then
        return outer.class
    elseif file.class == "request" and AT_LOAD[node.known_as] then
        return "init"
    end
    return file.class
end


return _M

-- Finds functions that are made in each iteration, and need nothing of the loop.
local hoist = require "moonlap.lint.hoist"

local NEEDED = { -- they want a function of their own
    ["ngx.timer.at"] = true, ["ngx.timer.every"] = true, ["ngx.thread.spawn"] = true,
    ["coroutine.create"] = true, ["coroutine.wrap"] = true,
    ["pcall"] = true, ["xpcall"] = true, -- see pcall-closure
}

-- Functions that call what they are given and keep nothing of it, with what it may be named: one
-- function for all calls means the same to them.
local KEEP_NOTHING = {["table.sort"] = "comes_first", ["string.gsub"] = "replacement",
    ["ngx.re.gsub"] = "replacement", ["ngx.re.sub"] = "replacement"}

-- Tells whether an expression of a function uses a variable that the loop declares, other than the
-- function itself.
local function captures(e, loop, func)
    local var = e.tag == "Id" and e.var
    if var then
        local at = var.node.offset
        local of_loop = at >= loop.offset and at <= loop.end_offset
        local of_func = at >= func.offset and at <= func.end_offset
        return of_loop and not of_func and var ~= func.var
    end
    for _, inner in ipairs(e) do
        if type(inner) == "table" and captures(inner, loop, func) then
            return true
        end
    end
    return false
end

local function needed(file, func)
    local parent = func.parent
    return parent.timer or parent.tag == "Call" and NEEDED[file:name(parent[1])]
end

local function fix(file, func, loop)
    local parent = func.parent
    if parent.tag == "Local" or parent.tag == "Localrec" then
        return hoist.moves(file, parent, loop)
    end
    local call = parent.tag == "Call" and parent
    local name = call and KEEP_NOTHING[file:name(call[1])]
    return name and hoist.edits(file, func, name, {loop = loop}) or nil
end

return {visit = {Function = function(file, func)
    local loop = file.loop
    if loop and not needed(file, func) and not captures(func, loop, func) then
        file:report(func, "a function is made in each iteration, and uses nothing of the loop: "
            .. "make it once above", {fix = fix(file, func, loop)})
    end
end}}

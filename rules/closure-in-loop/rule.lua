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

-- Tells whether a function uses a variable that the loop declares.
local captures

local function any(list, loop, node)
    for _, e in ipairs(list) do
        if type(e) == "table" and captures(e, loop, node) then
            return true
        end
    end
    return false
end

function captures(e, loop, node)
    if e.tag == "Id" and e.var then
        local at = e.var.node.offset
        local inside = at >= loop.offset and at <= loop.end_offset
        return inside and not (at >= node.offset and at <= node.end_offset)
    elseif e.tag == "Dots" then
        return true
    end
    return any(e, loop, node)
end

local function fix(file, call, node, loop)
    local name = KEEP_NOTHING[file:name(call[1])]
    return name and hoist.edits(file, node, name, {loop = loop})
end

return {visit = {Call = function(file, call)
    local loop = file.loop
    if not loop or NEEDED[file:name(call[1])] then
        return
    end
    for i = 2, #call do
        if call[i].tag == "Function" and not any(call[i], loop, call[i]) then
            file:report(call[i], "a function is made in each iteration, and uses nothing of the "
                .. "loop: make it once above", {fix = fix(file, call, call[i], loop)})
        end
    end
end}}

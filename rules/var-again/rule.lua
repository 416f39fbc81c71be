-- Finds nginx variables that a function reads again, or in a loop, and that cannot change between.

-- Variables that count or tell the time: behind any call they are others.
local MOVING = {
    "^request_time$", "^msec$", "^time_", "^bytes_sent$", "^body_bytes_sent$", "^request_length$",
    "^connections_", "^tcpinfo_", "^upstream_bytes_",
}

-- Calls behind which a request is another, or its parts are.
local CHANGES_REQUEST = {
    "^ngx%.req%.set_", "^ngx%.req%.clear_", "^ngx%.req%.read_body$", "^ngx%.req%.append_body$",
    "^ngx%.req%.finish_body$", "^ngx%.location%.capture", "^kong%.service%.",
    "^@apisix%.core%.request%.set_",
}

-- What is assigned to, and the variables that it changes, beside one of the same name.
local CHANGED_BY = {
    ["^ngx%.var%.args$"] = {"^arg_", "^query_string$", "^is_args$"},
    ["^ngx%.status$"] = {"^status$"},
    ["^ngx%.header%."] = {"^sent_http_"},
}

local function any(name, patterns)
    for _, pattern in ipairs(patterns) do
        if name:find(pattern) then
            return true
        end
    end
    return false
end

-- The rule's own of a function: `vars`, its reads by variable; `changes`, what stands between them.
local function own(data)
    data.vars, data.changes = data.vars or {}, data.changes or {}
    return data
end

local function note(file, node)
    local name = file:name(node)
    local variable = name and name:match "^ngx%.var%.([%w_]+)$"
    if not variable then
        return
    end
    local vars = own(file:here()).vars
    local reads = vars[variable] or {}
    vars[variable] = reads
    if node.assigned then
        reads.set = true
    else
        reads[#reads + 1] = {node = node, branch = file.branch, loops = file.loops,
            each = file.loop and file.loop.branch == file.branch}
    end
end

-- Keeps where a call stands: of which nobody knows what it sets, or which changes the request.
local function called(file, node)
    local name = node.tag == "Call" and file:name(node[1])
    local what = name and (any(name, CHANGES_REQUEST) and "request" or "known") or "unknown"
    table.insert(own(file:here()).changes, {at = node.offset, what = what})
end

local function assigned(file, node)
    for _, target in ipairs(node[1]) do
        local name = target.tag == "Index" and file:name(target)
        for pattern, variables in pairs(name and CHANGED_BY or {}) do
            if name:find(pattern) then
                table.insert(own(file:here()).changes, {at = node.offset, variables = variables})
            end
        end
    end
end

-- Tells whether a variable may change between two places.
local function changes(here, variable, set_elsewhere, from, to)
    for _, change in ipairs(here.changes) do
        if change.at > from and change.at < to then
            local what = change.what
            if change.variables and any(variable, change.variables) or what == "request"
                or what == "unknown" and set_elsewhere or what and any(variable, MOVING) then
                return true
            end
        end
    end
    return false
end

-- Reads that another one on the same path comes before, with no change between them.
local function again(file, here, variable, set_elsewhere)
    local found, reads = {}, here.vars[variable]
    for i = 2, #reads do
        for k = 1, i - 1 do
            if file:above(reads[k].branch, reads[i].branch) and not changes(here, variable,
                set_elsewhere, reads[k].node.offset, reads[i].node.offset) then
                found[#found + 1] = reads[i]
                break
            end
        end
    end
    return found
end

local function check(file, func, here, variable)
    local reads = here.vars[variable]
    local set_elsewhere = file.source.text:find("var%." .. variable .. "%s*=[^=]") ~= nil
    local more = again(file, here, variable, set_elsewhere)
    if #more > 0 then
        file:report(more[1].node, string.format("ngx.var.%s is read %d times in this "
            .. "function, and each time nginx makes a string of it: keep it in a local",
            variable, #more + 1), {func = func, loops = more[1].loops})
    elseif #reads == 1 and reads[1].each
        and not changes(here, variable, set_elsewhere, 0, math.huge) then
        file:report(reads[1].node, string.format("ngx.var.%s is read in each iteration: keep "
            .. "it in a local above the loop", variable), {func = func, loops = reads[1].loops})
    end
end

return {visit = {Index = note, Call = called, Invoke = called, Set = assigned},
    leave = function(file, func)
        local here = own(func.data[file.rule] or {})
        for variable, reads in pairs(here.vars) do
            if not reads.set then
                check(file, func, here, variable)
            end
        end
    end}

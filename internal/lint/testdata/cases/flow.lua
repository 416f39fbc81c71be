-- Rules that look at loops, variables and branches.
local _M = {}
local known

function _M.concat(parts, one)
    local s, t = "", ""
    for _, part in ipairs(parts) do
        s = s .. part --> concat-in-loop
        t = part .. t --> concat-in-loop
        local line = "a"
        line = line .. part
    end
    local last = ""
    for _, part in ipairs(parts) do
        last = part
        last = last .. "," -- it begins anew each time
    end
    for _ = 1, 3 do
        s = s .. "x"
    end
    local again = ""
    for i = 1, #parts do
        again = again .. parts[i] --> concat-in-loop
        again = again .. "," -- told once
    end
    s = s .. one .. again
    return s, t, last
end

function _M.globals()
    counter = 1 --> global-written
    known = 2
    local inner = 3
    inner = known
    _M.field = inner
    return function()
        total, known = 1, 2 --> global-written
    end
end

function _M.vars(x)
    local a = ngx.var.uri
    local b = ngx.var.uri --> var-again
    if x then
        a = ngx.var.host
    else
        a = ngx.var.host
    end
    if x then
        b = ngx.var.args
        b = b .. ngx.var.args --> var-again
    end
    ngx.var.target = a
    b = ngx.var.target
    for _ = 1, 10 do
        b = ngx.var.scheme --> var-again
        if b then
            return ngx.var.server_name
        end
    end
    return b, ngx.var[x], ngx.var[x]
end

function _M.ctx()
    ngx.ctx.a = 1
    ngx.ctx.b = ngx.ctx.a --> ctx-again
    return ngx.ctx.c + ngx.ctx.d
end

function _M.ctx_branches(x)
    if ngx.ctx.a then
        return ngx.ctx.a
    elseif x then
        return ngx.ctx.b
    end
    if x == 1 then
        ngx.ctx.c = 1
    end
end

function _M.ctx_few()
    ngx.ctx.a = ngx.ctx.b
end

function _M.closures(list)
    for i, x in ipairs(list) do
        table.sort(x, function(a, b) return a < b end) --> closure-in-loop, not-compiled
        table.sort(x, function(a, b) return a[i] < b end) --> not-compiled
        ngx.thread.spawn(function() return 1 end)
        list[i] = function() return 1 end --> closure-in-loop
        list[i] = function() return x end
        local again = function(n) return n + 1 end --> closure-in-loop
        local function depth(n) return n == 0 and 0 or depth(n - 1) end --> closure-in-loop
        local function of_loop(n) return again(n) + x end
        list.by_name = {run = function(...) return select("#", ...) end} --> closure-in-loop
        list:each(function(e) return depth(e) end)
        list:each(function(e) return list[e] end) --> closure-in-loop
        function list:size() return #self end --> closure-in-loop
        for j = 1, i do
            list[j] = function() return x end --> closure-in-loop
        end
        if of_loop(i) then
            return function() return 1 end
        end
    end
end

function _M.fills(n, list)
    local t = {} --> table-new
    for i = 1, n do
        t[i] = i
    end
    local few = {}
    for i = 1, 4 do
        few[i] = i
    end
    local other = {1}
    for i = 1, n do
        other[i] = list[i]
    end
    local added, twice, per_row, names = {}, {}, {}, {} --> table-new
    for i = 1, n do
        added[#added + 1] = list[i]
        twice[#twice + 1] = list[i]
        if list[i] then
            names[#names + 1] = i
        end
    end
    twice[#twice + 1] = n
    for _, row in ipairs(list) do
        for i = 1, #row do
            table.insert(per_row, row[i])
        end
    end
    local inserted = {} --> table-new
    for i = 1, n do
        table.insert(inserted, i)
    end
    return t, few, other, table.concat(added), twice, per_row, names, inserted
end

function _M.failing(sockets, query)
    local ok, err
    for i = 1, #sockets do
        ok, err = sockets[i]:send(query)
        if not ok then
            err = "cannot send: " .. err
        end
    end
    return ok, err
end

_M.handlers = {init_worker = {before = function(s)
    ngx.re.match(s, "a")
end}, access = {before = function(s)
    ngx.re.match(s, "a") --> regex-flags
end}}

function _M.ignored(s)
    ngx.re.match(s, "a") -- moonlap: ignore regex-flags called once a day
    -- moonlap: ignore regex-flags,unpack called once a day
    -- a comment between

    ngx.re.match(s, "c")
    ngx.re.match(s, "d") --> regex-flags
    return s
end

return _M

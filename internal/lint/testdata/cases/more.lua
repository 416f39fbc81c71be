-- Where the rules of FFI, shared dicts, sockets and errors speak, and where they do not.
local ffi = require "ffi"
local redis = require "resty.redis"
local C = ffi.C

local typeof = ffi.typeof
local buffer = typeof "char[?]"

local function order(a, b) return a[0] < b[0] and -1 or 1 end

local function sorted(p, n)
    local compare = ffi.cast("int (*)(const int *, const int *)", order) --> ffi-callback
    local address = ffi.cast("uintptr_t", p)
    C.qsort(p, n, 4, compare)
    return address
end

local function declared()
    ffi.cdef "int getpid(void);" --> ffi-cdef-again
    return C.getpid()
end

local function buffers(n, name)
    local fixed = ffi.new("char[" .. "16" .. "]")
    local sized = ffi.new("char[" .. n .. "]") --> ffi-type-built
    local formatted = typeof(string.format("struct %s *", name)) --> ffi-type-built
    return buffer(n), fixed, sized, formatted
end

local function joined(...)
    local parts = {...}
    local one_more = {0, ...}
    local text = ""
    for i = 1, #parts do --> varargs-table
        text = parts[i]
    end
    for i = 1, #one_more do
        text = one_more[i]
    end
    for i = 1, select("#", ...) do
        text = (select(i, ...))
    end
    return text
end

local function refuse(x)
    if not x then
        error "no x"
    end
    return x
end

local function accept(x)
    return x
end

local function answers(x)
    local a = pcall(refuse, x) --> error-flow
    local b = pcall(accept, x)
    local c = pcall(refuse.x, x)
    return a, b, c
end

local function counted(key, other, amount)
    local dict = ngx.shared.cats
    local hits = dict:get(key) or 0
    dict:set(key, hits + 1) --> dict-get-set
    dict:set(other, hits + 1)
    dict:set(key, amount + 1)
    dict:set(key, (dict:get(key) or 0) + amount) --> dict-get-set
    ngx.shared.dogs:set(key, hits + 1)
    return dict:incr(key, 1, 0)
end

local function limited(key, other, lock)
    local cats, dogs = ngx.shared.cats, ngx.shared.dogs
    if cats:get(key) then
        ngx.log(ngx.INFO, cats:get(key)) --> dict-again
    end
    local first = cats:get(other) or dogs:get(other)
    lock:lock(key)
    local second = cats:get(other)
    cats:set(key, 1)
    cats:expire(key, 10) --> dict-again
    local n = cats:incr(other, 1)
    if not n then
        cats:add(other, 0)
        n = cats:incr(other, 1) --> dict-again
    end
    local m = dogs:incr(key, 1, 0)
    if m == 1 then
        dogs:expire(key, 10) --> dict-again
    end
    dogs:incr(other, 1, 0)
    dogs:expire(other, 10)
    if n then
        first = dogs:get("a")
    else
        second = dogs:get("a")
    end
    while not dogs:get("b") do
        ngx.sleep(0.1)
    end
    local moving = key .. "x"
    moving = moving .. "y"
    return first, second, dogs:get("b"), cats:get(moving), cats:get(moving)
end

local function closed(host)
    local red = redis:new()
    local ok, err = red:connect(host, 6379)
    if not ok then
        red:close()
        return nil, err
    end
    local value = red:get("key")
    red:close() --> socket-not-kept
    return value
end

local function kept(host)
    local sock = ngx.socket.tcp()
    if not sock:connect(host, 6379) then
        return nil, "refused"
    end
    sock:send("x")
    if not sock:setkeepalive(1000, 10) then
        sock:close()
    end
end

local function pooled(options)
    local pg = require("pgmoon").new(options)
    pg:connect()
    if not pg:keepalive() then
        pg:close()
    end
    pg:close()
end

local function failed(host)
    local sock = ngx.socket.tcp()
    if not sock:connect(host, 1) then
        sock:close()
        return "failed"
    end
    return sock
end

local function given(sock)
    sock:connect("a", 1)
    sock:close()
end

local function times(list)
    ngx.update_time() --> update-time
    ngx.timer.at(0, accept) --> timer-unchecked
    local ok = ngx.timer.at(0, accept)
    if not ok then
        return nil
    end
    for _, x in ipairs(list) do
        ngx.timer.at(0, accept, x) --> timer-in-loop
    end
    return ngx.now()
end

local function redirected(user)
    ngx.ctx.user = user
    return ngx.exec("/inside") --> ctx-lost
end

local function plain()
    ngx.var.user = "ada"
    ngx.req.set_uri("/x", false)
    return ngx.exec("/inside")
end

local function left(key)
    local client = redis:new()
    client:connect("127.0.0.1", 6379) --> socket-not-kept
    return client:get(key)
end

local function kept_by_others(key)
    local client = redis:new()
    client:connect("127.0.0.1", 6379)
    ngx.ctx.client = client
    return client:get(key), left
end

return {sorted, declared, buffers, joined, answers, counted, limited, closed, kept, pooled, failed, given, times, redirected, plain}

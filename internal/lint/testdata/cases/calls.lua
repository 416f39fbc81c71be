-- What rules say at a call, and what they do not. The file is on the path of requests.
local re, find = ngx.re, ngx.re.find
local cjson = require "cjson.safe"
local core = require("apisix.core")
local http = require "socket.http"
local socket = require("socket")
local new_tab = require "table.new"
local PATTERN = [[^/api]]
local log, DEBUG, ERR = ngx.log, ngx.DEBUG, ngx.ERR
local unpack = table.unpack or unpack
local _M = {}
local mt = {__index = _M}

ngx.re.match("at load", "pattern") -- a module's chunk runs once

function _M.regexes(subject, pattern, options)
    re.match(subject, "a+") --> regex-flags
    find(subject, PATTERN, "j") --> regex-flags
    ngx.re.gsub(subject, "a", "b", "o") --> regex-flags
    ngx.re.sub(subject, "a", "b", nil) --> regex-flags
    re.match(subject, "a+", "jo")
    re.match(subject, "a+", "ijo")
    re.match(subject, "a+", options)
    re.match(subject, pattern)
    re.match(subject)
    local ngx = {re = {match = function() end}}
    ngx.re.match(subject, "a+")
end

function _M.headers(name)
    local a = ngx.req.get_headers()["X-Real-IP"] --> one-header
    local b = ngx.req.get_uri_args().page --> one-header
    local c = ngx.req.get_headers()[name]
    local one = ngx.req.get_headers() --> one-header
    local all = ngx.req.get_headers()
    for k, v in pairs(all) do
        ngx.say(k, v)
    end
    local set = ngx.req.get_headers()
    set.x = 1
    return a, b, c, one.host, all.host
end

function _M.logs(t, name)
    log(DEBUG, "t: " .. name) --> eager-log
    ngx.log(ngx.INFO, "t: ", cjson.encode(t)) --> eager-log
    core.log.info("t: ", core.json.encode(t)) --> eager-log
    core.log.info("t: ", core.json.delay_encode(t))
    log(ERR, "t: " .. name)
    log(DEBUG, "t: ", name, tostring(t))
    log(DEBUG, "a long text " .. "in two lines")
    if ngx.config.debug then
        log(DEBUG, cjson.encode(t))
    end
end

function _M.blocks()
    os.execute("true") --> blocking-call
    http.request("http://localhost") --> blocking-call
    socket.sleep(1) --> blocking-call
    socket.tcp()
    local now = socket.gettime()
    local io = require "io"
    local f = io.open("x") --> blocking-call
    return now, f
end

-- What a local function's callers say of it.
local function only_at_load()
    return io.open("x")
end

local function only_in_timers(again)
    if again then
        return only_in_timers()
    end
    os.execute("true") --> blocking-call
    return io.open("x")
end

local function in_both()
    return io.open("x") --> blocking-call
end

local function makes_handlers()
    local function handler()
        return io.open("x") --> blocking-call
    end
    return handler, function() return io.open("x") end --> blocking-call
end

_M.a, _M.b = makes_handlers()

local function given_away()
    return io.open("x") --> blocking-call
end

_M.given_away, _M.only_at_load = given_away, only_at_load()
ngx.timer.every(1, only_in_timers)
kong.timer:named_every("both", 1, in_both)

function _M.reads()
    return pcall(in_both)
end

function _M.init_worker()
    return io.open("x"), ngx.re.match("a", "b")
end

ngx.timer.at(0, function()
    os.execute("true") --> blocking-call
    return io.open("x"), ngx.re.match("a", "b")
end)

function _M.dicts(cache)
    local dict = ngx.shared.cats
    dict:get_keys() --> dict-scan
    ngx.shared["dogs"]:flush_all() --> dict-scan
    cache:flush_all()
    dict:get("x")
end

function _M.others(t, arg, ...)
    table.insert(t, 1, "x") --> table-front
    table.remove(t, 1) --> table-front
    table.remove(arg, 1)
    table.insert(t, "x")
    local a, b = unpack(t) --> unpack
    a = unpack(t, 1, t.n)
    local list, pair = {a, unpack(t)}, {a, b}
    _M.logs(unpack(t))
    _M.logs(unpack(list))
    _M.logs(unpack(pair)) --> unpack
    a = unpack(t).name --> unpack
    table.insert(list, b)
    pcall(function() return a end) --> pcall-closure
    pcall(_M.logs, t)
    for word in a:gmatch("[^,]+") do --> gmatch
        b = word
    end
    for word in string.gmatch(a, "(.-)%.") do --> gmatch
        b = word
    end
    for word in a:gmatch("%a+") do
        b = word
    end
    for word in a:gmatch("[^,;]+") do
        b = word
    end
    a:find("%.") --> find-plain
    a:find(".", 1, true)
    a:find("%d")
    a:find("abc")
    local c = table.concat({a, ":", b}) --> concat-of-few
    c = table.concat({a, b}, ",") --> concat-of-few
    c = table.concat({a, ...})
    return setmetatable({}, {__index = _M}), c --> fresh-metatable
end

function _M.compiled(n)
    for i = 1, n do
        n = n + math.fmod(i, 2) + math.floor(i) --> not-compiled
        n = n + #string.rep("x", i)
    end
    return math.fmod(n, 2)
end

function _M.new(x)
    return setmetatable({x = x}, mt), setmetatable({}, {__index = x}), new_tab(1, 0)
end

return _M

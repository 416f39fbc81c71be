-- Correct code that looks like what a rule is about.
local errlog = require "ngx.errlog"
local cjson = require "cjson"
local ffi = require "ffi"
local kept = {}
local class
local _M = {}

-- What a loop does at most once is not in it.
function _M.once(list, s)
    local text, other = "", ""
    for _, x in ipairs(list) do
        if x == s then
            text = text .. x
            break
        elseif x then
            do
                text = text .. x
                return text
            end
        end
        other = other .. x --> concat-in-loop
    end
    repeat
        if s == "a" then
            break
        end
        text = text .. s
    until true
    while true do
        table.sort(list, function(a, b) return a < b end)
        text = text .. ngx.var.uri
        break
    end
    for _, x in ipairs(list) do
        repeat
            if x == "" then
                text = text .. x --> concat-in-loop
                break
            end
        until true
    end
    return text
end

-- What is switched off.
function _M.off(s)
    do
        return s
    end
    return ngx.re.match(s, "a")
end

-- A variable that changes between two reads, or may.
function _M.variables(set)
    local before = ngx.var.uri
    ngx.req.set_uri("/other")
    local args = ngx.var.args
    ngx.req.set_uri_args("a=1")
    local began = ngx.var.request_time
    ngx.sleep(1)
    local target, host = ngx.var.target, ngx.var.host
    set()
    return before, ngx.var.uri, args, ngx.var.args, ngx.var.request_time - began, target,
        ngx.var.target, host, ngx.var.host --> var-again
end

function _M.set()
    ngx.var.target = "b"
end

function _M.in_loop(list)
    for i, x in ipairs(list) do
        ngx.req.set_header("X-" .. i, x)
        list[i] = ngx.var.http_x_1
    end
end

-- ngx.ctx in a loop.
function _M.ctx(list)
    for _, x in ipairs(list) do
        ngx.ctx[x] = true --> ctx-again
        if x then
            kept[x] = ngx.ctx
        end
    end
    for _, x in ipairs(list) do
        if x == 1 then
            return ngx.ctx
        end
    end
end

-- The level is asked for first.
function _M.log(x)
    local debugging = errlog.get_sys_filter_level() >= ngx.DEBUG
    local wanted = x and debugging
    if wanted then
        ngx.log(ngx.DEBUG, cjson.encode(x))
    end
    if x and wanted then
        ngx.log(ngx.DEBUG, cjson.encode(x))
    end
    ngx.log(ngx.DEBUG, cjson.encode(x)) --> eager-log
    if not debugging then
        return
    end
    ngx.log(ngx.DEBUG, cjson.encode(x))
end

-- Some elements alone, and all.
function _M.filled(n, want)
    local some, all = {}, {} --> table-new
    for i = 1, n do
        if want[i] then
            some[i] = i
        end
        all[i] = i
    end
    return some, all
end

-- A connection that is read to its end cannot be kept.
function _M.tunnel(host)
    local sock = ngx.socket.tcp()
    sock:connect(host, 443)
    local data = sock:receive("*a")
    sock:close()
    return data
end

-- A health check opens one to see whether the peer is there, and SMTP says QUIT.
function _M.mail(host)
    local sock = ngx.socket.tcp()
    sock:connect(host, 25)
    sock:send("QUIT\r\n")
    sock:close()
end

function _M.healthy(host)
    local sock = ngx.socket.tcp()
    local ok = sock:connect(host, 80)
    sock:close()
    ngx.log(ngx.INFO, "health of ", host)
    return ok
end

-- What is sent several times is asked for: a table tells.
function _M.several()
    local v = ngx.req.get_headers()["X-Forwarded-For"]
    if type(v) == "table" then
        v = v[1]
    end
    local headers = ngx.req.get_headers()
    local id = headers["X-Id"]
    local args = ngx.req.get_uri_args() --> one-header
    return v, type(id) == "string" and id, args.a
end

function _M.use(c)
    class = c
end

-- Another class later: one metatable for all would be that of the first.
function _M.new()
    return setmetatable({}, {__index = class}), setmetatable({}, {__index = _M}) --> fresh-metatable
end

-- Captures that somebody reads, or the table that they go into.
function _M.matches(s, kept, set)
    local m, err = ngx.re.match(s, "a", "jo")
    local other = ngx.re.match(s, "b", "jo")
    local asked = ngx.re.match(s, "c", "jo") --> match-unread
    if not m and err or other and other[1] then
        return ngx.re.match(s, "d", "jo")
    end
    if not asked or ngx.re.match(s, "e", "jo", nil, kept) then
        return ngx.re.match(s, "f", "jo") ~= nil
    end
    if not ngx.re.match(s, "g", "jo") then --> match-unread
        set(ngx.re.match(s, "h", "jo"))
    elseif (s and ngx.re.match(s, "i", "jo")) ~= nil then --> match-unread
        return set(asked ~= nil)
    end
end

-- Each replacement takes a place in the cache with "o", and "d" has no machine code.
local function upper(m)
    return m[0]:upper()
end

function _M.replaced(s, by)
    ngx.re.gsub(s, "a", by)
    ngx.re.sub(s, "a", "<" .. by .. ">", "j")
    ngx.re.sub(s, "a", upper) --> regex-flags
    ngx.re.sub(s, "a", "b") --> regex-flags
    ngx.re.match(s, "a", "do")
    ngx.re.match(s, "a", "d") --> regex-flags
    return ffi.new("int[1]")
end

return _M

--- The table `wrk` that scripts see, as wrk 4's scripts expect it.
-- @module moonlap.load.wrk
local headers_of = require "moonlap.load.headers"
local resolve = require "moonlap.load.resolve"

local _M = {}

local concat, format = table.concat, string.format
local next, pairs, tostring, type = headers_of.next, headers_of.pairs, tostring, type


local function text_of(value)
    local kind = type(value)
    return (kind == "string" or kind == "number") and value or tostring(value)
end


-- The request as text. Written so that it compiles; `pairs` and `next` give the headers' order, as
-- in wrk.
local function new_format(wrk)
    local out = {} -- used again: nothing else grows with each request
    local function many(method, path, headers, body)
        out[1], out[2], out[3], out[4] = method, " ", path, " HTTP/1.1"
        local n = 4
        for name, value in pairs(headers) do
            out[n + 1], out[n + 2], out[n + 3], out[n + 4] = "\r\n", name, ": ", text_of(value)
            n = n + 4
        end
        out[n + 1], out[n + 2] = "\r\n\r\n", body
        return concat(out, "", 1, n + 2)
    end

    return function(method, path, headers, body)
        method, path = method or wrk.method, path or wrk.path
        headers, body = headers or wrk.headers, body or wrk.body
        if not headers["Host"] then
            headers["Host"] = wrk.headers["Host"]
        end
        headers["Content-Length"] = body and #body
        body = body or ""
        -- Up to three headers without a loop, which would end the trace that this is part of.
        local name, value = next(headers)
        if name == nil then
            return many(method, path, headers, body)
        end
        local name2, value2 = next(headers, name)
        if name2 == nil then
            return method .. " " .. path .. " HTTP/1.1\r\n" .. name .. ": " .. text_of(value)
                .. "\r\n\r\n" .. body
        end
        local name3, value3 = next(headers, name2)
        if name3 == nil then
            return method .. " " .. path .. " HTTP/1.1\r\n" .. name .. ": " .. text_of(value)
                .. "\r\n" .. name2 .. ": " .. text_of(value2) .. "\r\n\r\n" .. body
        elseif next(headers, name3) == nil then
            return method .. " " .. path .. " HTTP/1.1\r\n" .. name .. ": " .. text_of(value)
                .. "\r\n" .. name2 .. ": " .. text_of(value2)
                .. "\r\n" .. name3 .. ": " .. text_of(value3) .. "\r\n\r\n" .. body
        end
        return many(method, path, headers, body)
    end
end


local function install_checks(wrk)
    function wrk.resolve(host, service)
        local reachable = {}
        for _, addr in ipairs(wrk.lookup(host, service)) do
            if wrk.connect(addr) then
                reachable[#reachable + 1] = addr
            end
        end
        wrk.addrs = reachable
    end
end


--- The value of the header Host for a URL's parts.
local function host_header(wrk)
    local host, port = wrk.host, wrk.port
    if host:find(":", 1, true) then
        host = "[" .. host .. "]"
    end
    return port and host .. ":" .. port or host
end


--- Makes the table for a state.
-- @tparam table spec the side, as the job has it
-- @tparam table env where the script's globals are
-- @treturn table
function _M.new(spec, env)
    local scheme, rest = spec.url:match "^(%a[%w+.-]*)://(.*)$"
    local authority, path = (rest or spec.url):match "^([^/?#]*)([^#]*)"
    authority = authority:gsub("^.*@", "")
    local host, port = authority:match "^%[(.-)%]:?(%d*)$"
    if not host then
        host, port = authority:match "^([^:]*):?(%d*)$"
    end
    if path == "" then
        path = "/"
    elseif path:sub(1, 1) == "?" then
        path = "/" .. path
    end

    local wrk = {
        scheme = scheme or "http", host = host or "localhost", port = port ~= "" and port or nil,
        method = spec.method or "GET", path = path, headers = {}, body = spec.body, thread = nil,
        lookup = resolve.lookup, connect = resolve.connect,
    }
    for _, header in ipairs(spec.headers or {}) do
        wrk.headers[header[1]] = header[2]
    end
    wrk.format = new_format(wrk)
    install_checks(wrk)

    function wrk.setup(thread)
        if wrk.addrs and wrk.addrs[1] then
            thread.addr = wrk.addrs[1]
        end
        if type(env.setup) == "function" then
            env.setup(thread)
        end
    end

    function wrk.init(args)
        if not wrk.headers["Host"] then
            wrk.headers["Host"] = host_header(wrk)
        end
        if type(env.init) == "function" then
            env.init(args)
        end
        local text = wrk.format()
        wrk.request = function()
            return text
        end
    end
    return wrk
end


--- How many requests a text holds: what wrk counts by a parser.
-- @tparam string text
-- @treturn int; or nil and why it is none
function _M.count(text)
    local n, at = 0, 1
    while at <= #text do
        at = text:find("[^\r\n]", at)
        if not at then
            break
        end
        local _, stop = text:find("\r?\n\r?\n", at)
        if not stop then
            return nil, "a request does not end with an empty line"
        end
        local head = text:sub(at, stop)
        if not head:find "^[%u%-_]+ %S+ HTTP/%d%.%d\r?\n"
            and not head:find "^[%u%-_]+ .- HTTP/%d%.%d\r?\n" then
            return nil, "not a request: " .. format("%q", head:match "^[^\r\n]*":sub(1, 60))
        end
        local lower = head:lower()
        local length = tonumber(lower:match "\ncontent%-length:[ \t]*(%d+)") or 0
        n, at = n + 1, stop + 1 + length
        if lower:find "\ntransfer%-encoding:[^\n]*chunked" then
            local _, last = text:find("\r\n0\r\n\r\n", stop - 1, true)
            at = last and last + 1 or #text + 1
        elseif at - 1 > #text then
            return nil, "a request's body is shorter than its Content-Length"
        end
    end
    if n == 0 then
        return nil, "request() returned an empty text"
    end
    return n
end


return _M

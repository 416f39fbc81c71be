-- Finds calls that stop the whole worker, and so all its requests.
local CALLS = {
    ["os.execute"] = "ngx.pipe", ["io.popen"] = "ngx.pipe",
    ["io.open"] = "read it at load, or lua_shared_dict",
    ["io.lines"] = "read it at load", ["io.input"] = "read it at load",
    ["io.output"] = "a log, or a cosocket", ["io.tmpfile"] = "keep it in memory",
    ["os.tmpname"] = "keep it in memory", ["os.remove"] = "do it in a timer",
    ["os.rename"] = "do it in a timer",
}

-- LuaSocket and others: modules whose functions wait in C, and what does not.
local MODULES = {
    ["@socket.http"] = "resty.http", ["@ssl.https"] = "resty.http", ["@socket.smtp"] = "resty.mail",
    ["@socket.ftp"] = "ngx.socket.tcp", ["@socket.dns"] = "resty.dns.resolver",
    ["@socket"] = "ngx.socket.tcp",
    ["@lsqlite3"] = "a server with a cosocket client",
    ["@luasql.mysql"] = "resty.mysql", ["@luasql.postgres"] = "pgmoon",
    ["@redis"] = "resty.redis", ["@lfs"] = "read it at load",
}
local HARMLESS = {
    gettime = true, headers = true, skip = true, tcp = true, tcp4 = true, tcp6 = true, udp = true,
    unix = true,
    udp4 = true, udp6 = true, newtry = true, protect = true, try = true, source = true,
    sink = true, choose = true, timeout = true,
}

-- Files alone: a timer may read one, and so may a library whose callers nobody knows.
local FILES = {["io.open"] = true, ["io.lines"] = true, ["io.input"] = true,
    ["io.output"] = true, ["io.tmpfile"] = true, ["os.remove"] = true, ["os.rename"] = true,
    ["os.tmpname"] = true}

return {classes = {"request", "timer"}, visit = {Call = function(file, call)
    local name = file:name(call[1])
    if not name then
        return
    end
    local reads = FILES[name] or name:find "^@lfs%."
    if reads and (file.func.class ~= "request" or not file:deals_with_requests()) then
        return
    end
    local instead, shown = CALLS[name], name
    if not instead then
        local module, called = name:match "^(@.+)%.([^.]+)$"
        instead = module and not HARMLESS[called] and MODULES[module]
        shown = module and module:sub(2) .. "." .. called
    end
    if instead and not file:here()[shown] then
        file:here()[shown] = true
        file:report(call, string.format("%s stops the worker, and all requests that it serves, "
            .. "until it returns; instead: %s", shown, instead))
    end
end}}

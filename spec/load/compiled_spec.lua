-- The hot path is compiled, the user's hooks with it.
local load = require "spec.support.load"

local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: a\r\n\r\nok"

local HOT = {
    "loop.lua", "exchange.lua", "reading.lua", "response.lua", "script.lua", "wrk.lua",
    "headers.lua",
}

local WORKS = {
    ["the plain loop"] = "",
    ["request()"] = [[
        local n = 0
        request = function()
            n = n + 1
            wrk.headers["X-Counter"] = n
            return wrk.format(nil, "/" .. n)
        end
    ]],
    ["response()"] = [[
        local good = 0
        response = function(status, headers, body)
            if status == 200 and #body == 2 then good = good + 1 end
        end
    ]],
    ["response() with headers"] = [[
        local good = 0
        response = function(status, headers)
            if headers["Server"] == "a" then good = good + 1 end
        end
    ]],
    ["a connection's table and tags"] = [[
        request = function(conn)
            conn.n = (conn.n or 0) + 1
            conn.tag = "a"
            return wrk.format("GET", "/")
        end
    ]],
}


-- What LuaJIT says of its traces while a script runs.
local function traces(script, more)
    local run
    load.with_server(function(peer)
        while peer:receive() and peer:send(OK) do -- luacheck: ignore
        end
    end, function(path)
        run = load.run(load.job(path, more), script, { args = { "-jv" } })
    end)
    assert.same({}, run:errors())
    return run.stdout .. run.stderr
end


local function is_hot(line)
    for _, name in ipairs(HOT) do
        if line:find(name, 1, true) then
            return true
        end
    end
    return false
end


describe("the hot path of the load engine", function()
    for name, script in pairs(WORKS) do
        it("is compiled: " .. name, function()
            local text = traces(script, { connections = 8, requests = 8000, duration_ns = 5e10 })
            local compiled
            for line in text:gmatch "[^\n]+" do
                compiled = compiled or is_hot(line) and line:find "^%[TRACE +%d+ "
                -- A new head is parsed by string.gmatch, once. What is too complex for registers is
                -- a matter of chance, and recorded again elsewhere: blacklisting would tell.
                if is_hot(line) and not line:find("gmatch", 1, true)
                    and not line:find("register coalescing", 1, true) then
                    assert.is_nil(line:find("NYI", 1, true), line)
                    assert.is_nil(line:find("blacklisted", 1, true), line)
                    assert.is_nil(line:find(" stitch ", 1, true), line)
                    assert.is_nil(line:find("too long", 1, true), line)
                end
            end
            assert.is_truthy(compiled, text)
        end)
    end
end)

-- A chat server for lines, and five clients that take turns: TCP both ways, many writers.
local uv = require(arg[1])

local CLIENTS, ROUNDS = 5, 4
local members, server = {}, uv.new_tcp()

local function broadcast(line, from)
    for _, member in ipairs(members) do
        if member ~= from then
            member.socket:write(line .. "\n")
        end
    end
end

local function lines_of(socket, on_line, on_end)
    local rest = ""
    socket:read_start(function(err, chunk)
        assert(not err, err)
        if not chunk then
            return on_end()
        end
        rest = rest .. chunk
        rest = rest:gsub("([^\n]*)\n", function(line)
            on_line(line)
            return ""
        end)
    end)
end

assert(server:bind("127.0.0.1", 0))
assert(server:listen(16, function(err)
    assert(not err, err)
    local member = { socket = uv.new_tcp() }
    server:accept(member.socket)
    members[#members + 1] = member
    lines_of(member.socket, function(line)
        broadcast(line, member)
    end, function()
        for i, other in ipairs(members) do
            if other == member then
                table.remove(members, i)
            end
        end
        member.socket:close()
        if #members == 0 then
            server:close()
        end
    end)
    if #members == CLIENTS then
        broadcast "start"
    end
end))

local heard = {}
for i = 1, CLIENTS do
    local socket, said = uv.new_tcp(), 0
    heard[i] = 0
    socket:connect("127.0.0.1", server:getsockname().port, function(err)
        assert(not err, err)
        lines_of(socket, function(line)
            if line ~= "start" then
                heard[i] = heard[i] + 1
            end
            if said < ROUNDS and (line == "start" or heard[i] >= said * (CLIENTS - 1)) then
                said = said + 1
                socket:write { "client ", tostring(i), " says ", tostring(said), "\n" }
            end
            if said == ROUNDS and heard[i] == ROUNDS * (CLIENTS - 1) then
                socket:shutdown()
            end
        end, function()
            socket:close()
        end)
    end)
end

uv.run()
print("heard " .. table.concat(heard, " "))
print("alive", uv.loop_alive())

-- A name service over UDP: questions from three sockets, answers to whoever asked; names and
-- addresses turned into each other.
local uv = require(arg[1])
local server = uv.new_udp()
assert(server:bind("127.0.0.1", 0))
local here = server:getsockname()
local book, asked = { one = "1", two = "2", three = "3" }, 0

local function answered(err)
    assert(not err, err)
    asked = asked + 1
    if asked == 12 then
        server:recv_stop()
        server:close()
    end
end
server:recv_start(function(err, question, from)
    assert(not err, err)
    if question then
        server:send(question .. "=" .. (book[question] or "?"), from.ip, from.port, answered)
    end
end)

local answers = {}
for i = 1, 3 do
    local client, left = uv.new_udp(), { "one", "two", "three", "four" }
    if i == 3 then
        assert(client:connect(here.ip, here.port))
    end
    local function ask()
        local question = table.remove(left)
        if not question then
            return client:close()
        end
        local function sent(err)
            assert(not err, err)
        end
        if i == 3 then
            client:send(question, nil, nil, sent)
        else
            client:send({ question:sub(1, 1), question:sub(2) }, here.ip, here.port, sent)
        end
    end
    client:recv_start(function(err, answer)
        assert(not err, err)
        if answer then
            answers[#answers + 1] = i .. answer
            ask()
        end
    end)
    ask()
end

uv.getaddrinfo("127.0.0.1", "53", { socktype = "dgram", numericserv = true }, function(err, list)
    answers[#answers + 1] = ("address %s %s %d"):format(tostring(err), list[1].addr, list[1].port)
end)
uv.getaddrinfo("not a number", nil, { numerichost = true }, function(err, list)
    answers[#answers + 1] = "no address " .. err .. " " .. tostring(list)
end)

uv.run()
table.sort(answers)
print(table.concat(answers, "\n"))

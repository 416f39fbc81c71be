-- uv.lua LIBRARY ADDRESS CONNECTIONS SECONDS: a closed loop that hardly does anything, on luv or on
-- moonlap.uv: the least that a load generator on their loop costs. Each piece that arrives is taken
-- for an answer, nothing is parsed, timed or counted but the answers.
local uv = require(arg[1])
local host, port = arg[2]:match "^(.*):(%d+)$"
local connections, seconds = tonumber(arg[3]), tonumber(arg[4])

local REQUEST = "GET / HTTP/1.1\r\nHost: " .. arg[2] .. "\r\n\r\n"
local done, over = 0, false

for _ = 1, connections do
    local client = uv.new_tcp()
    client:nodelay(true)
    local function answered(err, piece)
        assert(piece, err)
        done = done + 1
        if not over then
            client:write(REQUEST)
        else
            client:close()
        end
    end
    client:connect(host, tonumber(port), function(refused)
        assert(not refused, refused)
        client:read_start(answered)
        client:write(REQUEST)
    end)
end

local timer = uv.new_timer()
timer:start(seconds * 1000, 0, function()
    over = true
    timer:close()
end)
uv.run()
print(done .. " requests")

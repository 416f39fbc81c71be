-- bulk MIB: so much over one connection within this process, as a chain of writes of 64 KiB, four
-- of them under way at a time.
local uv = require(arg[1])
local measure = require "measure"
local total = tonumber(arg[2]) * 2 ^ 20

local block = ("y"):rep(65536)
local sent, received, start = 0, 0, nil

local server, port
server, port = measure.listen_on(uv, function(refused)
    assert(not refused, refused)
    local peer = uv.new_tcp()
    server:accept(peer)
    peer:read_start(function(_, chunk)
        if chunk then
            received = received + #chunk
        else
            peer:close()
            server:close()
        end
    end)
end)

local client = uv.new_tcp()

local function write()
    if sent < total then
        sent = sent + #block
        client:write(block, write)
    elseif not client:is_closing() then
        client:close()
    end
end

client:connect("127.0.0.1", port, function(err)
    assert(not err, err)
    start = measure.cpu_seconds()
    for _ = 1, 4 do
        write()
    end
end)
uv.run()
measure.report(measure.cpu_seconds() - start, received / 2 ^ 20)

-- coroutine CONNECTIONS TRIPS: the work of `echo`, in coroutine style: callbacks resume whoever
-- waits, as the coro-* libraries and promises do.
local uv = require(arg[1])
local measure = require "measure"
local connections, trips = tonumber(arg[2]), tonumber(arg[3])

local running, resume, yield = coroutine.running, coroutine.resume, coroutine.yield

local function continue(co, ...)
    local ok, err = resume(co, ...)
    if not ok then
        error(debug.traceback(co, err), 0)
    end
end

-- A reader: each call waits for the next piece.
local function reader(stream)
    local waiting, pieces, ended = nil, {}, false
    stream:read_start(function(err, piece)
        assert(not err, err)
        if waiting then
            local co = waiting
            waiting = nil
            continue(co, piece)
        elseif piece then
            pieces[#pieces + 1] = piece
        else
            ended = true
        end
    end)
    return function()
        if #pieces > 0 or ended then
            return table.remove(pieces, 1)
        end
        waiting = running()
        return yield()
    end
end

local function write(stream, data)
    local co = running()
    stream:write(data, function(err)
        continue(co, err)
    end)
    return yield()
end

local function go(fn)
    continue(coroutine.create(fn))
end

local server, port
server, port = measure.listen_on(uv, function(err)
    assert(not err, err)
    local peer = uv.new_tcp()
    server:accept(peer)
    go(function()
        for piece in reader(peer) do
            write(peer, piece)
        end
        peer:close()
    end)
end)

local message, done, finished = ("x"):rep(64), 0, 0
local start = measure.cpu_seconds()
for _ = 1, connections do
    go(function()
        local co, client = running(), uv.new_tcp()
        client:connect("127.0.0.1", port, function(err)
            continue(co, err)
        end)
        assert(not yield())
        local read = reader(client)
        for _ = 1, trips / connections do
            write(client, message)
            assert(#read() == 64)
            done = done + 1
        end
        client:close()
        finished = finished + 1
        if finished == connections then
            server:close()
        end
    end)
end
uv.run()
measure.report(measure.cpu_seconds() - start, done)

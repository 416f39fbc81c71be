-- Copies a file through a pair of pipes: the reader of the file waits while too much is under way,
-- the other end stops reading now and then. FOLDER is arg[2].
local uv = require(arg[1])
local source, target = arg[2] .. "/source", arg[2] .. "/target"
local SIZE, BLOCK, MOST = 2000000, 30000, 120000

local text = {}
for i = 1, SIZE / 10 do
    text[i] = ("%09d\n"):format(i)
end
text = table.concat(text)
local fd = assert(uv.fs_open(source, "w", 420))
assert(uv.fs_write(fd, text, 0) == SIZE)
uv.fs_close(fd)

local fds = assert(uv.socketpair("stream", nil, { nonblock = true }, { nonblock = true }))
local from, to = uv.new_pipe(false), uv.new_pipe(false)
from:open(fds[1])
to:open(fds[2])

local most_waiting, sent = 0, 0
local function send(file)
    uv.fs_read(file, BLOCK, sent, function(err, chunk)
        assert(not err, err)
        if #chunk == 0 then
            uv.fs_close(file)
            return from:shutdown(function()
                from:close()
            end)
        end
        sent = sent + #chunk
        local resumed = false
        from:write(chunk, function(write_err)
            assert(not write_err, write_err)
            if not resumed then
                resumed = true
                send(file)
            end
        end)
        most_waiting = math.max(most_waiting, from:get_write_queue_size())
        if from:get_write_queue_size() < MOST and not resumed then
            resumed = true
            send(file)
        end
    end)
end

local file = assert(uv.fs_open(target, "w", 420))
local received, under_way, ended = 0, 0, false
local function finish()
    if ended and under_way == 0 then
        uv.fs_close(file)
        to:close()
    end
end
local function on_read(err, chunk)
    assert(not err, err)
    if not chunk then
        ended = true
        return finish()
    end
    to:read_stop()
    under_way = under_way + 1
    uv.fs_write(file, chunk, received, function(write_err, written)
        assert(not write_err, write_err)
        assert(written == #chunk)
        under_way = under_way - 1
        to:read_start(on_read)
    end)
    received = received + #chunk
end
to:read_start(on_read)
uv.fs_open(source, "r", 0, function(err, opened)
    assert(not err, err)
    send(opened)
end)

uv.run()
fd = assert(uv.fs_open(target, "r", 0))
print(received, uv.fs_read(fd, SIZE + 1, 0) == text, most_waiting <= MOST + BLOCK)
uv.fs_close(fd)

--- Every kind of event of moonlap.uv as Lua source that makes one happen.
-- @module spec.support.uv_events
local _M = {}

--- What comes before the sources below: `uv`, and a stream whose other end has sent `data` or
-- has ended.
_M.frame = [[
    local uv = require "moonlap.uv"
    local function end_of_pipe(data)
        local flags = { nonblock = true }
        local fds = assert(uv.socketpair("stream", nil, flags, flags))
        local a, b = uv.new_pipe(false), uv.new_pipe(false)
        a:open(fds[1]) b:open(fds[2])
        if data then b:write(data) else b:shutdown() end
        return a
    end
]]

--- By kind: arranges that `fn` is called, as this kind of callback.
_M.kinds = {
    timer = "local h = uv.new_timer() h:start(0, 0, fn)",
    idle = "local h = uv.new_idle() h:start(fn)",
    prepare = [[local h = uv.new_prepare() h:start(fn)
        local i = uv.new_idle() i:start(function() i:close() end)]],
    check = [[local h = uv.new_check() h:start(fn)
        local i = uv.new_idle() i:start(function() i:close() end)]],
    close = "uv.new_timer():close(fn)",
    async = "local h h = uv.new_async(fn) h:send()",
    fs = "uv.fs_stat('.', fn)",
    read = "local h = end_of_pipe('x') h:read_start(fn)",
    ["end"] = "local h = end_of_pipe() h:read_start(fn)",
    write = "local h = end_of_pipe() h:write('x', fn)",
    poll = [[local fds = uv.socketpair("stream", nil, {}, {})
        local h = uv.new_poll(fds[1]) h:start('w', fn)]],
    signal = "local h = uv.new_signal() h:start('sigusr1', fn) uv.kill(uv.getpid(), 'sigusr1')",
    connection = [[local h = uv.new_tcp() h:bind('127.0.0.1', 0) h:listen(1, fn)
        local c = uv.new_tcp() c:connect('127.0.0.1', h:getsockname().port)]],
    connect = "local h = uv.new_pipe(false) h:connect('/nowhere', fn)",
    getaddrinfo = "uv.getaddrinfo('127.0.0.1', nil, { numerichost = true }, fn)",
    udp_recv = [[local h = uv.new_udp() h:bind('127.0.0.1', 0) h:recv_start(fn)
        uv.new_udp():send('x', '127.0.0.1', h:getsockname().port)]],
    exit = "local h h = uv.spawn('true', {}, fn)",
    fs_event = [[local h = uv.new_fs_event() h:start('.', {}, fn)
        uv.fs_mkdir('made', 448)]],
    shutdown = "local h = end_of_pipe('x') h:shutdown(fn)",
    udp_send = [[local h = uv.new_udp() h:send('x', '127.0.0.1', 9, fn)]],
    getnameinfo = "uv.getnameinfo({ ip = '127.0.0.1' }, fn)",
    random = "uv.random(4, nil, fn)",
    work = "uv.new_work(function() end, fn):queue()",
    fs_poll = "local h = uv.new_fs_poll() h:start('nowhere', 1, fn)",
    pipe_connection = [[local h = uv.new_pipe(false) h:bind('./socket') h:listen(1, fn)
        local c = uv.new_pipe(false) c:connect('./socket')]],
    tcp_connect = [[local h = uv.new_tcp() h:bind('127.0.0.1', 0) h:listen(1, function() end)
        local c = uv.new_tcp() c:connect('127.0.0.1', h:getsockname().port, fn)]],
}

return _M

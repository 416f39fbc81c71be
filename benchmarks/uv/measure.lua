--- What the Lua programs share: process CPU time around the work, as `seconds operations`.
local _M = {}

--- Process CPU time, user and system, in seconds.
_M.cpu_seconds = os.clock


--- Prints what Go reads.
function _M.report(seconds, operations)
    print(("%.6f %.0f"):format(seconds, operations))
end


--- A loopback socket that listens.
-- @return the handle
-- @treturn number its port
function _M.listen_on(uv, on_connection)
    local server = uv.new_tcp()
    assert(server:bind("127.0.0.1", 0))
    assert(server:listen(512, on_connection))
    return server, assert(server:getsockname()).port
end


--- The same by a pipe with a name.
-- @return the handle
-- @treturn string its path
function _M.listen_by_pipe(uv, on_connection)
    local server, path = uv.new_pipe(false), os.tmpname()
    os.remove(path)
    assert(server:bind(path))
    assert(server:listen(512, on_connection))
    return server, path
end


return _M

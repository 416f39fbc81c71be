--- What the specs of moonlap.uv share.
-- @module spec.support.uv
local _M = {}


--- What to give to `describe`: the body, where moonlap.uv can be loaded. Elsewhere the reason is
-- told: as a skipped test, or as a failed one when MOONLAP_TEST_REQUIRE_ALL is set.
-- @tparam function(uv) body
-- @treturn function
function _M.with_uv(body)
    return function()
        local ok, uv = pcall(require, "moonlap.uv")
        local missing = not ok and uv or uv.shim_missing()
        if not missing then
            return body(uv)
        end
        local busted = getfenv(body) -- only specs themselves see busted's functions
        busted.it("runs", function()
            if os.getenv "MOONLAP_TEST_REQUIRE_ALL" then
                error(missing, 0)
            end
            busted.pending(missing)
        end)
    end
end


--- Calls `start` with a callback, runs the loop, and returns what the callback got.
-- @tparam table uv
-- @tparam function start `start(callback)`
-- @return what the callback got; an error when it was called never or twice
function _M.await(uv, start)
    local calls, count, results = 0, 0, {}
    start(function(...)
        calls, count, results = calls + 1, select("#", ...), { ... }
    end)
    uv.run()
    assert(calls == 1, "the callback was called " .. calls .. " times")
    return unpack(results, 1, count)
end


--- Two connected pipes that are opened, and the second one's descriptor.
-- @tparam table uv
function _M.pair(uv)
    local flags = { nonblock = true }
    local fds = assert(uv.socketpair("stream", nil, flags, flags))
    local a, b = uv.new_pipe(false), uv.new_pipe(false)
    assert(a:open(fds[1]))
    assert(b:open(fds[2]))
    return a, b, fds[2]
end


--- Closes all handles there are, and runs the loop until they are closed.
-- @tparam table uv
-- @treturn table what they were, in words
function _M.close_all(uv)
    local open = {}
    uv.walk(function(handle)
        open[#open + 1] = tostring(handle)
        if not handle:is_closing() then
            handle:close()
        end
    end)
    uv.run()
    return open
end


return _M

local support = require "spec.support.uv"

describe("a closed handle of moonlap.uv", support.with_uv(function()
    local uv = require "moonlap.uv"

    local function closed(kind)
        local handle = assert(uv["new_" .. kind]())
        handle:close()
        uv.run()
        return handle
    end

    for kind, calls in pairs {
        tcp = {
            getsockname = "EBADF", getpeername = "EBADF", nodelay = { "EBADF", true },
            bind = { "EBADF", "127.0.0.1", 0 }, connect = { "EBADF", "127.0.0.1", 1 },
        },
        udp = {
            getsockname = "EBADF", getpeername = "EBADF", set_broadcast = { "EBADF", true },
            set_multicast_loop = { "EBADF", false }, set_multicast_ttl = { "EBADF", 1 },
            set_membership = { "EBADF", "224.0.0.1", nil, "join" },
            bind = { "EBADF", "127.0.0.1", 0 }, send = { "EBADF", "x", "127.0.0.1", 1 },
        },
        pipe = {
            getsockname = "EBADF", getpeername = "EBADF", bind = { "EBADF", "/nowhere/x" },
            connect = { "EBADF", "/nowhere/x" },
        },
        fs_event = { getpath = "EINVAL", start = { "EINVAL", ".", {}, print } },
        fs_poll = { getpath = "EINVAL", start = { "EINVAL", ".", 100, print } },
    } do
        it("answers with an error: " .. kind, function()
            local handle = closed(kind)
            for name, call in pairs(calls) do
                call = type(call) == "table" and call or { call }
                local result, message, code = handle[name](handle, unpack(call, 2, 5))
                assert.is_nil(result, name)
                assert.equal(call[1], code, name)
                assert.equal(code .. ": ", message:sub(1, #code + 2), name)
            end
        end)
    end

    it("keeps no loop alive, and says so", function()
        for _, kind in ipairs { "tcp", "udp", "pipe", "fs_event", "timer", "idle", "prepare" } do
            local handle = assert(uv["new_" .. kind]())
            handle:close()
            assert.is_true(handle:has_ref(), kind) -- until its loop has closed it
            uv.run()
            assert.is_false(handle:has_ref(), kind)
        end
    end)

    it("can be stopped again when it watched a path", function()
        assert.equal(0, closed("fs_event"):stop())
        assert.equal(0, closed("fs_poll"):stop())
    end)
end))

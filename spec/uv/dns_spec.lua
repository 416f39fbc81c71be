local support = require "spec.support.uv"

-- Only what needs no server.
describe("uv.getaddrinfo", support.with_uv(function(uv)
    local HINTS = { socktype = "stream", protocol = "tcp", numerichost = true }
    local LOCAL = {
        { addr = "127.0.0.1", family = "inet", port = 8080, socktype = "stream", protocol = "tcp" },
    }

    it("answers at once", function()
        assert.same(LOCAL, (uv.getaddrinfo("127.0.0.1", "8080", HINTS)))
        assert.equal("inet6", uv.getaddrinfo("::1", nil, HINTS)[1].family)
        assert.equal("::1", uv.getaddrinfo("::1", nil, HINTS)[1].addr)
    end)

    it("answers a callback", function()
        local err, addresses = support.await(uv, function(callback)
            local request = uv.getaddrinfo("127.0.0.1", 8080, HINTS, callback)
            assert.truthy(tostring(request):find "^uv_getaddrinfo_t: 0x")
        end)
        assert.is_nil(err)
        assert.same(LOCAL, addresses)
    end)

    it("fails both ways", function()
        local hints = { numerichost = true }
        local result, text, name = uv.getaddrinfo("nowhere.invalid", nil, hints)
        assert.is_nil(result)
        assert.equal("EAI_NONAME: unknown node or service", text)
        assert.equal("EAI_NONAME", name)
        local count, err = 0, nil
        uv.getaddrinfo("nowhere.invalid", nil, hints, function(...)
            count, err = select("#", ...), (...)
        end)
        uv.run()
        assert.equal(1, count)
        assert.equal("EAI_NONAME", err)
        assert.equal("EINVAL", select(3, uv.getaddrinfo()))
    end)

    it("refuses bad hints", function()
        for text, hints in pairs {
            ["invalid protocol: nonsense"] = { protocol = "nonsense" },
            ["family hint must be string if set"] = { family = {} },
            ["socktype hint must be string if set"] = { socktype = true },
        } do
            local ok, err = pcall(uv.getaddrinfo, "127.0.0.1", nil, hints)
            assert.is_false(ok)
            assert.truthy(err:find(text, 1, true), err)
        end
    end)
end))

describe("uv.getnameinfo", support.with_uv(function(uv)
    it("answers at once and a callback alike", function()
        local address = { ip = "127.0.0.1", port = 80 }
        local host, service = uv.getnameinfo(address)
        assert.equal("string", type(host))
        local err, later_host, later_service = support.await(uv, function(callback)
            assert(uv.getnameinfo(address, callback))
        end)
        assert.is_nil(err)
        assert.equal(host, later_host)
        assert.equal(service, later_service)
    end)

    it("refuses what is no address", function()
        assert.has_error(function() uv.getnameinfo { ip = "nonsense" } end,
            "bad argument #1 to 'getnameinfo' (Invalid ip address or port)")
    end)
end))

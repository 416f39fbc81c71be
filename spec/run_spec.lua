local status

describe("exit statuses of moonlap run", function()
    setup(function()
        _G.ngx = {OK = 0, ERROR = -1, DONE = -4}
        status = require "moonlap.run.status"
    end)

    teardown(function()
        _G.ngx = nil
    end)

    it("maps what ngx.exit is called with", function()
        local cases = {
            [0] = 0, [-1] = 1, [-4] = 0, [-5] = 1, [3] = 3, [199] = 199,
            [200] = 0, [299] = 0, [300] = 1, [404] = 1, [503] = 1,
        }
        for code, want in pairs(cases) do
            assert.equal(want, status.of(code), "ngx.exit(" .. code .. ")")
        end
        assert.equal(0, status.of(nil))
    end)
end)

local ballast = require "moonlap.bench.ballast"
local bench = require "spec.support.bench"
local random = require "moonlap.bench.random"

local function bytes(strings)
    local sum = 0
    for _, s in ipairs(strings) do
        sum = sum + #s
    end
    return sum
end

describe("ballast", function()
    it("is the same for the same draws", function()
        assert.same(ballast.new(random.new(7)), ballast.new(random.new(7)))
    end)

    it("differs from draw to draw, up to its most", function()
        local draw = random.new(7)
        local least, most = 1 / 0, 0
        for _ = 1, 50 do
            local size = bytes(ballast.new(draw))
            least, most = math.min(least, size), math.max(most, size)
        end
        assert.is_true(least < 30000 and most > 100000, least .. " to " .. most)
        assert.is_true(most < 140000, most) -- with each string's number
    end)

    it("is new in each series, and stays until the next", function()
        local r = bench.run([[
            local ballast, moonlap = require "moonlap.bench.ballast", require "moonlap"
            local new, made, alive = ballast.new, 0, setmetatable({}, {__mode = "k"})
            function ballast.new(...)
                local strings = new(...)
                made, alive[strings] = made + 1, true
                return strings
            end
            moonlap.bench {
                name = "case",
                run = function() end,
                teardown = function()
                    collectgarbage()
                    local left = 0
                    for _ in pairs(alive) do
                        left = left + 1
                    end
                    print(made .. " made, " .. left .. " left")
                end,
            }
        ]])
        assert.equal("5 made, 1 left\n", r.stdout)
    end)
end)

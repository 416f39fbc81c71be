--- When requests are due in an open loop.
--
-- Arrivals are one unit of the rate's integral apart (constant), or an exponentially distributed
-- number of units (Poisson): that holds for any course of the rate, so also for steps and ramps.
-- @module moonlap.load.pace
local log, sqrt, huge = math.log, math.sqrt, math.huge

local _M = {}
local mt = { __index = _M }

local LAST = { rate = 0, from = 0, duration = huge }


-- splitmix-like generator on doubles: independent of the user's math.random, and compiled.
local function new_random(seed)
    local state = (seed * 2654435761 + 12345) % 4294967296
    return function()
        -- xorshift32
        state = bit.tobit(state)
        if state == 0 then
            state = 88675123
        end
        state = bit.bxor(state, bit.lshift(state, 13))
        state = bit.bxor(state, bit.rshift(state, 17))
        state = bit.bxor(state, bit.lshift(state, 5))
        return (state % 4294967296 + 0.5) / 4294967296
    end
end


--- A schedule of arrivals.
-- @tparam table how `rate` (per second) or `stages` ({{rate=, duration_ns=, from=}, …}),
-- `poisson` (boolean), `seed`, `share` (1/threads), `offset` (0 to 1, where in the first interval
-- this thread begins)
-- @treturn table `due`: ns since the schedule's begin of the next arrival, infinity after the
-- last stage
function _M.new(how)
    local stages = {}
    for i, stage in ipairs(how.stages or { { rate = how.rate, duration_ns = huge } }) do
        stages[i] = {
            rate = stage.rate * how.share / 1e9,
            from = (stage.from or stage.rate) * how.share / 1e9,
            duration = stage.duration_ns,
        }
    end
    local self = setmetatable({
        stages = stages, index = 1, stage = stages[1] or LAST, begin = 0, at = 0, due = 0,
        random = new_random(how.seed or 1), poisson = how.poisson or false,
    }, mt)
    self:advance(self.poisson and -log(self.random()) or how.offset or 0)
    return self
end


-- Time from `at` into the stage until `mass` arrivals have passed; and the arrivals left of it
-- when the stage ends before.
local function within(stage, at, mass)
    local left = stage.duration - at
    if stage.from == stage.rate or left == huge then
        local rate = stage.rate
        if rate * left >= mass and rate > 0 then
            return mass / rate
        end
        return nil, rate > 0 and mass - rate * left or mass
    end
    local slope = (stage.rate - stage.from) / stage.duration
    local rate = stage.from + slope * at
    local total = rate * left + slope * left * left / 2
    if total < mass or total <= 0 then
        return nil, mass - total
    end
    -- the smaller root of slope/2 t² + rate t - mass = 0, in the form that loses no digits
    local root = rate * rate + 2 * slope * mass
    return 2 * mass / (rate + sqrt(root > 0 and root or 0))
end


--- Moves `due` on by `mass` arrivals of the rate's integral.
function _M:advance(mass)
    while true do
        local stage = self.stage
        local span, left = within(stage, self.at, mass)
        if span then
            self.at = self.at + span
            self.due = self.begin + self.at
            return
        end
        self.begin, self.at = self.begin + stage.duration, 0
        self.index = self.index + 1
        stage = self.stages[self.index]
        if not stage then
            self.stage, self.due, self.begin = LAST, huge, huge
            return
        end
        self.stage, mass = stage, left
    end
end


--- On to the arrival after the next.
function _M:next()
    self:advance(self.poisson and -log(self.random()) or 1)
end


return _M

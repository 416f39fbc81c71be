--- wrk's main state: the scripts once more, with setup() before the run and done() after it.
-- @module moonlap.load.main_state
local resolve = require "moonlap.load.resolve"
local results = require "moonlap.load.results"
local script = require "moonlap.load.script"
local value = require "moonlap.load.value"

local _M = {}
local mt = { __index = _M }

local no_hook = { [0] = 0 }


-- Runs a hook; an error is a line, and no more.
local function guarded(self, side, hook, f, ...)
    local ok, err = xpcall(f, function(thrown)
        return type(thrown) == "string" and thrown or tostring(thrown)
    end, ...)
    if not ok then
        self.write(script.error_line(err, hook, side, -1))
    end
    return ok
end


--- Runs the scripts' files.
-- @tparam table job
-- @tparam table crew
-- @tparam function write takes a line
function _M.new(job, crew, write)
    local self = setmetatable({ job = job, crew = crew, write = write, scripts = {},
        threads = {} }, mt)
    local load = package.loaded["moonlap.load"]
    for i, spec in ipairs(job.sides) do
        local one = script.new(spec, #job.sides == 1)
        one.hook = no_hook
        self.scripts[i - 1] = one
        local wrk = one.env.wrk
        wrk.addrs = {}
        for k, text in ipairs(spec.addresses or {}) do
            wrk.addrs[k] = resolve.new(text)
        end
        local ok, err = one:run()
        if not ok then
            write(script.error_line(err, "load", i - 1, -1))
        end
    end
    load.loading(nil)
    return self
end


-- The thread as setup() and done() see it.
local function new_thread(self, side, index)
    local crew, addr = self.crew, nil
    local methods = {
        get = function(_, name)
            local answer, problem = crew:ask(index, { op = "get", side = side, name = name })
            if problem then
                error(problem, 2)
            end
            return answer and answer.value
        end,
        set = function(_, name, v)
            local ok, err = value.encode(v, tostring(name))
            if not ok then
                error("thread:set: " .. err, 2)
            end
            crew:ask(index, { op = "set", side = side, name = name, value = v })
        end,
        stop = function() end, -- before and after the run there is nothing to stop
    }
    return setmetatable({}, {
        __index = function(_, key)
            if key == "addr" then
                return addr
            end
            return methods[key] or key -- wrk returns an unknown name itself
        end,
        __newindex = function(_, key, v)
            if key ~= "addr" then
                error("a thread has no field '" .. tostring(key) .. "' to set: use thread:set()", 2)
            end
            addr = v
            crew:ask(index, { op = "set_addr", side = side, text = tostring(v) })
        end,
    })
end


--- Calls setup() for a thread, for each side.
function _M:setup(index)
    for i = 0, #self.job.sides - 1 do
        local wrk = self.scripts[i].env.wrk
        local thread = new_thread(self, i, index)
        if self.job.sides[i + 1].unix or #(self.job.sides[i + 1].addresses or {}) > 1 then
            -- Several addresses are used one after the other, unless the script chooses.
            local env = self.scripts[i].env
            if type(env.setup) == "function" then
                guarded(self, i, "setup", env.setup, thread)
            end
        else
            guarded(self, i, "setup", wrk.setup, thread)
        end
    end
end


--- Calls done() for each side.
-- @tparam table answers what threads said at the end, by thread
-- @tparam table elapsed ns by side
function _M:done(answers, elapsed)
    for i = 0, #self.job.sides - 1 do
        local env = self.scripts[i].env
        if type(env.done) == "function" then
            local totals = {}
            for _, answer in pairs(answers) do
                totals[#totals + 1] = answer.totals and answer.totals[i]
            end
            guarded(self, i, "done", function()
                env.done(results.of(totals, elapsed[i] or 0))
            end)
        end
    end
    io.stdout:flush()
end


return _M

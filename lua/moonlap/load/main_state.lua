--- wrk's main state: the scripts once more, with setup() before the run and done() after it.
-- @module moonlap.load.main_state
local resolve = require "moonlap.load.resolve"
local results = require "moonlap.load.results"
local script = require "moonlap.load.script"
local value = require "moonlap.load.value"
local watchdog = require "moonlap.load.watchdog"

local _M = {}
local mt = { __index = _M }

local no_hook = { [0] = 0 }


-- A hook does not return: says so, and that the run is over. What was measured is written already.
local function on_hang(self, side, hook, ns)
    local line = script.error_line(("has not returned for %g s"):format(ns / 1e9), hook, side, -1,
        "hang")
    line.file, line.line = self.scripts[side]:place(hook)
    self.write(line)
    self.on_end()
end


-- Runs a hook; an error is a line, and no more.
local function guarded(self, side, hook, f, ...)
    local ns = self.crew:patience_ns()
    local ok, err = watchdog.call(ns, function()
        on_hang(self, side, hook, ns)
    end, xpcall, f, script.text_of, ...)
    if not ok then
        self.write(script.error_line(err, hook, side, -1))
    end
    return ok
end


--- Runs the scripts' files.
-- @tparam table job
-- @tparam table crew
-- @tparam function write takes a line
-- @tparam function on_end called before a hook that hangs ends this process
function _M.new(job, crew, write, on_end)
    local self = setmetatable({ job = job, crew = crew, write = write, on_end = on_end,
        scripts = {}, threads = {} }, mt)
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
        if spec.script then
            guarded(self, i - 1, "load", function()
                local ok, err = one:run()
                if not ok then
                    error(err, 0)
                end
            end)
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


--- Where a hook of a side's script is declared.
-- @treturn string file, or nil
-- @treturn int line
function _M:place(side, hook)
    return self.scripts[side]:place(hook)
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

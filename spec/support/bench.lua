--- Bench files run as moonlap runs them: a fresh LuaJIT, a job, a channel on descriptor 3.
-- @module spec.support.bench
local cjson = require "cjson"
local child = require "spec.support.child"

local _M = {}

local MAIN = 'require("moonlap.bench.process").main()'

-- Short, for specs: nothing here asks whether figures are good.
local JOB = {
    mode = "measure", file = "bench.lua", name = "case", seed = 7,
    measure_ns = 5e6, warmup_ns = 3e7, batch_ns = 1e5,
}


local function to_lua(value)
    if type(value) ~= "table" then
        return type(value) == "string" and ("%q"):format(value) or tostring(value)
    end
    local parts = {}
    for k, v in pairs(value) do
        local key = type(k) == "string" and k .. " = " or ""
        parts[#parts + 1] = key .. to_lua(v)
    end
    return "{" .. table.concat(parts, ", ") .. "}"
end


local function parse(text)
    local lines = {}
    for line in text:gmatch "([^\n]*)\n" do
        lines[#lines + 1] = cjson.decode(line)
    end
    return lines
end


-- Methods of what a process said.
local Record = {}
Record.__index = Record


--- The lines of a type, and of a kind.
function Record:all(type, kind)
    local found = {}
    for _, line in ipairs(self.lines) do
        if line.type == type and (not kind or line.kind == kind) then
            found[#found + 1] = line
        end
    end
    return found
end


--- The one line of a type; an error when there is none, or more.
function Record:one(type, kind)
    local found = self:all(type, kind)
    assert(#found == 1, #found .. " lines of type " .. type .. "\n" .. self.channel .. self.stderr)
    return found[1]
end


--- The types of all lines in order, repetitions as one.
function Record:types()
    local types = {}
    for _, line in ipairs(self.lines) do
        if types[#types] ~= line.type then
            types[#types + 1] = line.type
        end
    end
    return types
end


--- Runs the job on a bench file.
-- @tparam string source of the file `bench.lua`
-- @tparam[opt] table job fields that differ from a short measurement of the case "case"
-- @tparam[opt] table options `files`, a map of more files; `env`; `channel`; `no_job`
-- @treturn table status, stdout, stderr, channel, lines; with the methods of `Record`
function _M.run(source, job, options)
    options = options or {}
    local fields = {}
    for k, v in pairs(JOB) do
        fields[k] = v
    end
    for k, v in pairs(job or {}) do
        fields[k] = v
    end
    local env = {}
    for k, v in pairs(options.env or {}) do
        env[k] = v
    end
    env.MOONLAP_JOB = not options.no_job and "return " .. to_lua(fields) or nil
    return child.with_folder(function(folder)
        child.write(folder .. "/bench.lua", source)
        for name, text in pairs(options.files or {}) do
            child.write(folder .. "/" .. name, text)
        end
        local done = child.start(folder, {args = {"-e", MAIN}, env = env,
            channel = options.channel})
        done.lines = parse(done.channel or "")
        return setmetatable(done, Record)
    end)
end


--- Runs a bench file with the one case "case", from the source of its `run`.
-- @tparam string run a function's source
-- @tparam[opt] table job
-- @tparam[opt] table options
-- @treturn table as `run`
function _M.case(run, job, options)
    return _M.run('require("moonlap").bench("case", ' .. run .. ")", job, options)
end


return _M

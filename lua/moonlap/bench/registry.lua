--- What a bench file declares: benchmarks, and the cases that their parameters make.
-- @module moonlap.bench.registry
local place = require "moonlap.bench.place"

jit.off(true, true)

local _M = {}

local concat, sort = table.concat, table.sort
local format = string.format
local error, ipairs, pairs, tostring, type = error, ipairs, pairs, tostring, type

local FIELDS = {
    name = "string", run = "function", params = "table", setup = "function",
    check = "function", teardown = "function", tags = "table",
    concurrency = "number", rate = "number",
}
local PARAM_TYPES = {string = true, number = true, boolean = true}

local benchmarks, by_name = {}, {}


local function check_params(params, level)
    for key, values in pairs(params) do
        if type(key) ~= "string" then
            error("params: a parameter's name is a string, not " .. tostring(key), level + 1)
        end
        if type(values) ~= "table" or #values == 0 then
            error(format("params.%s: a list of values expected, as in {1, 10, 100}", key),
                level + 1)
        end
        for _, value in ipairs(values) do
            if not PARAM_TYPES[type(value)] then
                error(format("params.%s: a value is a string, number or boolean, not a %s",
                    key, type(value)), level + 1)
            end
        end
    end
end


local function check_spec(spec, level)
    for key, value in pairs(spec) do
        local wanted = FIELDS[key]
        if not wanted then
            error(format("moonlap.bench: no field '%s'; the fields are name, params, setup, "
                .. "run, check, teardown, tags, concurrency, rate", tostring(key)), level + 1)
        end
        if type(value) ~= wanted then
            error(format("moonlap.bench: %s is a %s, not a %s", key, wanted, type(value)),
                level + 1)
        end
    end
    if not spec.name or spec.name == "" then
        error("moonlap.bench: a name is missing", level + 1)
    end
    if not spec.run then
        error(format("moonlap.bench '%s': run, the function to time, is missing", spec.name),
            level + 1)
    end
    check_params(spec.params or {}, level + 1)
end


--- Declares a benchmark: `bench(name, run)`, or `bench{name=…, run=…, params=…, setup=…,
-- check=…, teardown=…, tags=…, concurrency=…, rate=…}`.
-- @param spec a name, or the table form
-- @tparam[opt] function run the function to time, with the short form
function _M.bench(spec, run)
    _M.declare(spec, run, place.of_user(2))
end


--- Declares a benchmark that stands at a given place.
-- @param spec as for @{bench}
-- @tparam[opt] function run as for @{bench}
-- @tparam[opt="?"] string file
-- @tparam[opt=0] int line
function _M.declare(spec, run, file, line)
    if type(spec) == "string" then
        if type(run) ~= "function" then
            error(format("moonlap.bench '%s': run is a function, not a %s", spec, type(run)), 3)
        end
        spec = {name = spec, run = run}
    elseif type(spec) ~= "table" then
        error("moonlap.bench: a name and a function, or a table, expected", 3)
    end
    check_spec(spec, 3)

    local other = by_name[spec.name]
    if other then
        error(format("moonlap.bench: the name '%s' is taken by %s:%d; names must be unique",
            spec.name, other.file, other.line), 3)
    end
    local benchmark = {spec = spec, file = file or "?", line = line or 0}
    by_name[spec.name] = benchmark
    benchmarks[#benchmarks + 1] = benchmark
end


local function sorted_keys(t)
    local keys = {}
    for key in pairs(t) do
        keys[#keys + 1] = key
    end
    sort(keys)
    return keys
end


-- All combinations of parameter values, the last parameter turning fastest.
local function combinations(params)
    local keys = sorted_keys(params)
    local all = {{}}
    for _, key in ipairs(keys) do
        local longer = {}
        for _, chosen in ipairs(all) do
            for _, value in ipairs(params[key]) do
                local copy = {}
                for k, v in pairs(chosen) do
                    copy[k] = v
                end
                copy[key] = value
                longer[#longer + 1] = copy
            end
        end
        all = longer
    end
    return all, keys
end


--- The declared cases in the order of declaration. A case's name is its benchmark's,
-- and `/param=value` for each parameter in alphabetical order.
-- @treturn {table,...} cases: name, benchmark, params, spec, file, line, index (from 0)
function _M.cases()
    local cases, taken = {}, {}
    for _, benchmark in ipairs(benchmarks) do
        local all, keys = combinations(benchmark.spec.params or {})
        for _, params in ipairs(all) do
            local name = {benchmark.spec.name}
            for _, key in ipairs(keys) do
                name[#name + 1] = key .. "=" .. tostring(params[key])
            end
            name = concat(name, "/")
            if taken[name] then
                error(format("%s:%d: two cases are named '%s'; make the values of params differ",
                    benchmark.file, benchmark.line, name), 0)
            end
            taken[name] = true
            cases[#cases + 1] = {
                index = #cases,
                name = name,
                benchmark = benchmark.spec.name,
                params = params,
                spec = benchmark.spec,
                file = benchmark.file,
                line = benchmark.line,
            }
        end
    end
    return cases
end


--- Forgets all declarations.
function _M.reset()
    benchmarks, by_name = {}, {}
end


return _M

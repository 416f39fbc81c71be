--- Which VM this is, how it was set up, and by which draw.
-- @module moonlap.bench.vm
local ffi = require "ffi"
local json = require "moonlap.json"

jit.off(true, true)

local _M = {}

local floor = math.floor

ffi.cdef "int moonlap_getpid(void) __asm__(\"getpid\");"

-- Phases in which nginx lets Lua yield.
local YIELDING = {timer = true, rewrite = true, access = true, content = true}


--- Whether code may yield in a phase.
-- @tparam[opt] string phase nginx phase; nil outside nginx
-- @treturn boolean
function _M.can_yield(phase)
    return phase == nil or YIELDING[phase] or false
end


--- Sets the job's JIT options.
-- @tparam table job
function _M.configure(job)
    if job.jit == "off" then
        jit.off()
    elseif job.jit and job.jit ~= "" then
        for option in job.jit:gmatch("[^%s,]+") do
            local ok, err = pcall(require("jit.opt").start, option)
            if not ok then
                error("--jit: " .. err, 0)
            end
        end
    end
end


--- Sets the job's seeds: `math.random`, which starts alike in every LuaJIT process and
-- would hide what chance does to the traces, and the JIT's own generator where the VM
-- offers `jit.prngstate`. To be called last before the user's code: every trace draws, and
-- how often the clock's own traces do hangs on time.
-- @tparam table job
function _M.seed(job)
    if not job.seed then
        return
    end
    math.randomseed(job.seed)
    if jit.prngstate then
        local x, state = job.seed % 2147483646 + 1, {}
        for i = 1, 8 do
            x = x * 48271 % 2147483647
            state[i] = x
        end
        -- A state of all small words is refused by some builds; then the VM's own stands.
        pcall(jit.prngstate, state)
    end
end


--- Resets all hot counters: every loop and function is as cold as in a fresh VM.
-- @tparam table job
function _M.cool(job)
    if job.jit ~= "off" then
        jit.off()
        jit.on()
    end
end


local function prng()
    local ok, state = pcall(jit.prngstate or error)
    if not ok then
        return nil
    end
    state = type(state) == "table" and state or {state}
    for i, word in ipairs(state) do
        state[i] = word % 2 ^ 32 -- the VM says them as signed
    end
    return json.array(state)
end


-- The file that holds LuaJIT: the shared library, or the program itself.
local function library()
    local maps = io.open("/proc/self/maps", "r")
    if not maps then
        return nil
    end
    local found
    for line in maps:lines() do
        local path = line:match("(/%S*libluajit[^%s]*)$")
        if path then
            found = path
            break
        end
    end
    maps:close()
    return found
end


local function describe_nginx(phase)
    local v, m = ngx.config.nginx_version, ngx.config.ngx_lua_version
    local has_process, process = pcall(require, "ngx.process")
    return {
        version = ("%d.%d.%d"):format(floor(v / 1e6), floor(v / 1e3) % 1e3, v % 1e3),
        lua_module = ("%d.%d.%d"):format(floor(m / 1e6), floor(m / 1e3) % 1e3, m % 1e3),
        phase = ngx.get_phase and ngx.get_phase() or phase,
        process = has_process and process.type() or "worker",
    }
end


--- The record's `process` line.
-- @tparam table job
-- @tparam table clock
-- @tparam[opt] string phase nginx phase; nil outside nginx
-- @treturn table
function _M.describe(job, clock, phase)
    local status = {jit.status()}
    local opt = json.array {}
    for i = 2, #status do
        opt[#opt + 1] = status[i]
    end
    return {
        type = "process",
        case = job.case, round = job.round or 0, seed = job.seed or 0,
        pid = ffi.C.moonlap_getpid(),
        prng = prng(),
        vm = {
            version = jit.version, arch = jit.arch, gc64 = ffi.abi("gc64"),
            jit = status[1], opt = opt, library = library(),
            build = jit.prngstate and "OpenResty branch" or nil,
        },
        nginx = phase and describe_nginx(phase) or nil,
        clock = {
            source = clock.source, step_ns = clock.step_ns, cost_ns = clock.cost_ns,
            ns_per_tick = clock.ns_per_tick, compiled = clock.compiled, reason = clock.reason,
        },
    }
end


return _M

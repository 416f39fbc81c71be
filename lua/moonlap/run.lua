--- A plain script in a real nginx worker: what `moonlap run` calls.
--
-- The script finds what it would find under `luajit` (stdin, stdout, `arg`, `os.exit`) and
-- what nginx offers in a timer (cosockets, `ngx.sleep`, light threads, shared dicts, …).
-- It ends the worker, whose exit status moonlap hands on.
-- @module moonlap.run
local limits = require "moonlap.bench.limits"
local vm = require "moonlap.bench.vm"
local output = require "moonlap.run.output"
local status = require "moonlap.run.status"
local threads = require "moonlap.run.threads"

local _M = {}


-- A traceback without what lies below the script: our own functions.
local function trim(traceback)
    local lines = {}
    for line in traceback:gmatch("[^\n]+") do
        if line:find("moonlap/run.lua:", 1, true) then -- the front of a long path is cut off
            lines[#lines] = nil -- the xpcall of the script
            break
        end
        lines[#lines + 1] = line
    end
    return table.concat(lines, "\n")
end


-- What to do about an error, by a part of its text.
local OUTSIDE = "A script runs in a timer, outside of any request: "
    .. "'moonlap bench --phase content' runs code inside of one."
local HINTS = {
    { "' not found",
        "Say where the module is: LUA_PATH='/folder/?.lua;;', LUA_CPATH for a module in C." },
    { "API disabled in the c", OUTSIDE },
    { "no request found", OUTSIDE },
}


-- The error without the fifteen places where require looked in vain, and what to do about it.
local function advise(text)
    text = text:gsub(":?\n%s*no field package%.preload%[[^\n]*", "")
    text = text:gsub("\n%s*no file '[^\n]*", "")
    for _, hint in ipairs(HINTS) do
        if text:find(hint[1], 1, true) then
            return text, "\n" .. hint[2]
        end
    end
    return text, ""
end


local function explain(err)
    local kind = type(err)
    local meta = getmetatable(err)
    local has_text = type(meta) == "table" and meta.__tostring
    if kind ~= "string" and kind ~= "number" and not has_text then
        err = "(error object is a " .. kind .. " value)"
    end
    local text, hint = advise(tostring(err))
    return trim(debug.traceback(text, 2)) .. hint
end


local function load_chunks(job)
    local chunks = {}
    for i, code in ipairs(job.code or {}) do
        -- The first line may be for the shell; it stays a line, so that numbers are right.
        local chunk, err = loadstring(code:gsub("^#[^\n]*", ""), job.name or "=(-e " .. i .. ")")
        if not chunk then
            return nil, err
        end
        chunks[i] = chunk
    end
    if job.file and not job.code then
        local chunk, err = loadfile(job.file)
        if not chunk then
            return nil, err
        end
        chunks[1] = chunk
    end
    return chunks
end


local function run(job)
    vm.configure(job)
    local args = job.args or {}
    arg = args -- luacheck: ignore 121
    args[0] = job.file or job.name or "-e"
    local chunks, err = load_chunks(job)
    if not chunks then
        io.stderr:write("moonlap: ", err, "\n")
        return status.ERROR
    end
    for _, chunk in ipairs(chunks) do
        local ok, trace = xpcall(chunk, explain, unpack(args))
        if not ok then
            io.stdout:flush()
            io.stderr:write("moonlap: ", trace, "\n")
            return status.ERROR
        end
    end
    threads.wait()
    return status.OK
end


--- Entry in an nginx worker, called in a timer. Ends the worker.
function _M.main()
    limits.apply()
    -- The Lua module warns of new globals, which requests would share. A script may have some.
    setmetatable(_G, nil)
    output.install()
    status.install()
    threads.install()
    local job = assert(loadstring(os.getenv("MOONLAP_JOB"), "=MOONLAP_JOB"))()
    os.exit(run(job))
end


return _M

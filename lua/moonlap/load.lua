--- The load engine: HTTP load from LuaJIT, as Go starts it, and what scripts may ask for beyond
-- wrk's API.
--
-- `moonlap.load.lines` has the contract with Go. This process coordinates; each thread of the run
-- is a process of its own, so that nothing is shared while requests go out.
-- @module moonlap.load
local _M = {}

local getenv, exit = os.getenv, os.exit

-- The extras of the script that is being loaded; nil when none is.
local extras


--- Called by the engine before it runs a script's file.
function _M.loading(of_script)
    extras = of_script
end


local function register(name, f)
    if type(f) ~= "function" then
        error("moonlap.load." .. name .. " takes a function", 3)
    elseif not extras then
        error("moonlap.load." .. name
            .. " is for scripts of moonlap load, called while their file runs", 3)
    end
    extras[name] = f
end


--- Names a function that judges each response: `check(response, conn)`, with `status`, `headers`
-- and `body`. A false or nil result counts as an error of the kind check; a second result says
-- why.
function _M.check(f)
    register("check", f)
end


--- Names a function that plays a user on each connection, again and again: `user(conn)`. It runs
-- as a coroutine; see `moonlap.load.user` for what `conn` can do.
function _M.user(f)
    register("user", f)
end


--- Pauses the user that calls it, in seconds.
function _M.sleep(seconds)
    return require("moonlap.load.user").sleep(seconds)
end


--- The lines of a file, in memory once for all threads: `lines[i]`, `lines.count`.
-- @treturn table; or nil and why not
function _M.lines(path)
    return require("moonlap.load.data").lines(path)
end


local function read_job()
    local source = getenv "MOONLAP_JOB"
    if not source then
        return nil, "MOONLAP_JOB is not set: this module is called by moonlap"
    end
    local job = assert(loadstring(source, "=MOONLAP_JOB"))()
    for _, side in ipairs(job.sides) do
        if side.body_file then
            local file, err = io.open(side.body_file, "rb")
            if not file then
                return nil, err
            end
            side.body = file:read "*a"
            file:close()
        end
    end
    return job
end


--- Runs the job. Ends the process: 0 when it ran, also with errors; 1 when it could not.
function _M.main()
    package.loaded["moonlap.load"] = _M
    local job, err = read_job()
    local ok
    if job then
        ok, err = require("moonlap.load.coordinator").run(job)
    end
    if not job or not ok then
        io.stderr:write("moonlap: ", err, "\n")
        exit(1)
    end
    exit(0)
end


return _M

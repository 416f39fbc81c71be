-- Children: data through a filter, status, signal, environment, folder, one that is not there.
local uv = require(arg[1])
local lines = {}

local function run(name, path, options, input)
    local stdin, stdout, stderr = uv.new_pipe(false), uv.new_pipe(false), uv.new_pipe(false)
    options.stdio = { stdin, stdout, stderr }
    local out, left = { {}, {} }, 3
    local child, pid
    local function ended(status, signal)
        if status then
            out.status, out.signal = status, signal
            child:close()
        end
        left = left - 1
        if left == 0 then
            lines[#lines + 1] = ("%s: %s %s [%s] [%s]"):format(name, out.status, out.signal,
                table.concat(out[1]), table.concat(out[2]))
        end
    end
    child, pid = uv.spawn(path, options, ended)
    if not child then
        lines[#lines + 1] = name .. ": " .. pid
        stdin:close()
        stdout:close()
        stderr:close()
        return
    end
    for i, pipe in ipairs { stdout, stderr } do
        pipe:read_start(function(err, chunk)
            assert(not err, err)
            if chunk then
                out[i][#out[i] + 1] = chunk
            else
                pipe:close()
                ended()
            end
        end)
    end
    if input then
        stdin:write(input)
    end
    stdin:shutdown(function()
        stdin:close()
    end)
    return child
end

run("sort", "sort", {}, "pear\napple\nfig\n")
run("status", "sh", { args = { "-c", "echo out; echo err >&2; exit 7" } })
run("folder", "pwd", { cwd = "/" })
run("environment", "sh", { args = { "-c", "echo $COLOUR" }, env = { "COLOUR=blue", "PATH=" ..
    os.getenv "PATH" } })
run("not there", "/nowhere/nothing", {})
local count = run("large", "wc", { args = { "-c" } }, ("x"):rep(1000000))
assert(count:is_active())
local sleeper = run("killed", "sleep", { args = { "1000" } })
uv.new_timer():start(1, 0, function()
    sleeper:kill "sigkill"
end)
uv.walk(function(handle)
    if uv.handle_get_type(handle) == "timer" then
        handle:unref() -- the child keeps the loop alive
    end
end)

uv.run()
table.sort(lines)
print(table.concat(lines, "\n"))

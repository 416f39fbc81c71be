-- Reads Lua from stdin, line by line, and answers: a REPL as luv's manual has it.
local uv = require(arg[1])
local stdin, stdout = uv.new_pipe(false), uv.new_pipe(false)
assert(stdin:open(0))
assert(stdout:open(1))

local function say(...)
    local words = { ... }
    for i = 1, select("#", ...) do
        words[i] = tostring(words[i])
    end
    stdout:write(table.concat(words, "\t") .. "\n")
end

local function evaluate(line)
    local chunk, err = loadstring("return " .. line)
    if not chunk then
        chunk, err = loadstring(line)
    end
    if not chunk then
        return say("error", (err:gsub("^[^:]*:%d+: ", "")))
    end
    local results = { pcall(chunk) }
    if results[1] then
        say(unpack(results, 2, table.maxn(results)))
    else
        say("error", (tostring(results[2]):gsub("^[^:]*:%d+: ", "")))
    end
end

local rest = ""
stdin:read_start(function(err, chunk)
    assert(not err, err)
    if not chunk then
        stdin:close()
        return stdout:shutdown(function()
            stdout:close()
        end)
    end
    rest = (rest .. chunk):gsub("([^\n]*)\n", function(line)
        evaluate(line)
        return ""
    end)
end)
uv.run()

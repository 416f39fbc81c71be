--- Fresh LuaJIT processes for specs. What concerns the JIT, stdout, descriptors or the end
-- of a process is never checked inside busted: its own code is traced there, and aborts.
-- @module spec.support.child
local cjson = require "cjson"

local _M = {}

local LUAJIT = "luajit"


local function quote(text)
    return "'" .. text:gsub("'", "'\\''") .. "'"
end


local function first_line(command)
    local pipe = assert(io.popen(command))
    local line = pipe:read "*l"
    pipe:close()
    return assert(line, command .. ": printed nothing")
end


local ROOT = first_line "pwd -P"


--- Reads a whole file.
-- @tparam string path
-- @treturn string
function _M.read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end


--- Writes a file, and the folders above it.
-- @tparam string path
-- @tparam string text
function _M.write(path, text)
    assert(first_line("mkdir -p " .. quote((path:match "^(.*)/")) .. " && echo ok") == "ok")
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end


--- Gives a function a temporary folder that is gone afterwards, also after an error.
-- @tparam function(folder) body
-- @return what the body returns
function _M.with_folder(body)
    local folder = first_line "mktemp -d"
    local results = {pcall(body, folder)}
    os.execute("rm -rf " .. quote(folder))
    if not results[1] then
        error(results[2], 0)
    end
    return unpack(results, 2)
end


--- Starts a LuaJIT in a folder and waits for its end.
-- @tparam string folder where it runs; out, err and channel are written there
-- @tparam table options `args` for luajit, a list; `env`, a map; `channel`: false closes
-- descriptor 3; `prefix`, a shell command before luajit
-- @treturn table `status`, `stdout`, `stderr`, `channel`
function _M.start(folder, options)
    local words = {}
    for name, value in pairs(options.env or {}) do
        words[#words + 1] = name .. "=" .. quote(value)
    end
    words[#words + 1] = "LUA_PATH=" .. quote(ROOT .. "/lua/?.lua;" .. ROOT .. "/lua/?/init.lua;;")
    words[#words + 1] = (options.prefix or "") .. " " .. LUAJIT
    for _, arg in ipairs(options.args) do
        words[#words + 1] = quote(arg)
    end
    local channel = options.channel == false and "3>&-" or "3>.channel"
    local status = first_line("cd " .. quote(folder) .. " && { " .. table.concat(words, " ")
        .. " >.stdout 2>.stderr " .. channel .. "; echo $?; }")
    return {
        status = tonumber(status),
        stdout = _M.read(folder .. "/.stdout"),
        stderr = _M.read(folder .. "/.stderr"),
        channel = options.channel ~= false and _M.read(folder .. "/.channel") or nil,
    }
end


--- Runs Lua code as the file `user.lua` and returns what its global `answer(value)` was
-- given, through JSON.
-- @tparam string code
-- @tparam[opt] table options `jit = false`; `env`; `prefix`; `files`, a map
-- @return the answer
function _M.answer(code, options)
    options = options or {}
    return _M.with_folder(function(folder)
        _M.write(folder .. "/user.lua", code)
        for name, text in pairs(options.files or {}) do
            _M.write(folder .. "/" .. name, text)
        end
        local args = {"-e", "function answer(v) io.write(require('moonlap.json').encode(v)) end",
            "user.lua"}
        if options.jit == false then
            table.insert(args, 1, "-joff")
        end
        local done = _M.start(folder, {args = args, env = options.env, prefix = options.prefix})
        assert(done.status == 0, done.stderr)
        return cjson.decode(done.stdout)
    end)
end


return _M

--- Where a script in an nginx worker prints to: `print`, `io.write`, `ngx.say` and
-- `ngx.print` all write to stdout, in order.
-- @module moonlap.run.output
local replace = require "moonlap.run.replace"
local status = require "moonlap.run.status"

local _M = {}

local concat, select, tostring, type = table.concat, select, tostring, type

local EPIPE = 32

local stdout = io.stdout


-- Writes as `ngx.print` does: array tables are joined, the rest is as `tostring` says.
local function flatten(value, parts, name)
    local kind = type(value)
    if kind == "table" then
        for key in pairs(value) do
            if type(key) ~= "number" or key < 1 or key % 1 ~= 0 then
                error("bad argument to '" .. name .. "' (non-array table found)", 4)
            end
        end
        for i = 1, #value do
            flatten(value[i], parts, name)
        end
    elseif value == ngx.null then
        parts[#parts + 1] = "null"
    elseif kind == "string" or kind == "number" or kind == "boolean" or kind == "nil" then
        parts[#parts + 1] = tostring(value)
    else
        error("bad argument to '" .. name .. "' (string, number, boolean, nil, ngx.null, "
            .. "or array table expected, got " .. kind .. ")", 4)
    end
end


local function writer(name, ending)
    return function(...)
        local parts = {}
        for i = 1, select("#", ...) do
            flatten((select(i, ...)), parts, name)
        end
        parts[#parts + 1] = ending
        local ok, err = stdout:write(concat(parts))
        if not ok then
            return nil, err
        end
        return 1
    end
end


local function print_line(...)
    local parts = {}
    for i = 1, select("#", ...) do
        parts[i] = tostring((select(i, ...)))
    end
    stdout:write(concat(parts, "\t") .. "\n")
end


-- Whether a file's write takes them all.
local function printable(...)
    for i = 1, select("#", ...) do
        local kind = type((select(i, ...)))
        if kind ~= "string" and kind ~= "number" then
            return false
        end
    end
    return true
end


-- nginx ignores SIGPIPE, so `moonlap run … | head -1` would print for ever.
local function end_with_reader(method)
    local function check(file, ok, err, code, ...)
        if not ok and code == EPIPE and file == stdout then
            os.exit(status.PIPE)
        end
        return ok, err, code, ...
    end
    return function(file, ...)
        if file == stdout and select("#", ...) > 1 and printable(...) then
            return check(file, method(file, concat({...}))) -- one system call
        end
        return check(file, method(file, ...))
    end
end


local function flush()
    stdout:flush()
    return 1
end


--- Replaces the functions that print. `ngx.say` and its like are not to be had in a timer,
-- and `print` would go to nginx's log.
function _M.install()
    local methods = getmetatable(stdout).__index
    methods.write = end_with_reader(methods.write)
    methods.flush = end_with_reader(methods.flush)
    io.write = function(...) -- luacheck: ignore 122
        return io.output():write(...)
    end
    print = print_line -- luacheck: ignore 121
    replace.in_timers("say", writer("say", "\n"))
    replace.in_timers("print", writer("print", ""))
    replace.in_timers("flush", flush)
    replace.in_timers("eof", flush)
    -- A reader at the other end of a pipe sees each piece in time; and a C library that
    -- buffers lines keeps its failures to itself.
    stdout:setvbuf("no")
end


return _M

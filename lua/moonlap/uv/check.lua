--- Arguments of API functions, checked as luv checks them and with its words.
--
-- Every check takes the argument's position and then all arguments: `check.string(2, ...)`, so
-- that `got no value` and `got nil` can be told apart. The error blames the line that called
-- into this library, by the name it used, whatever stands between.
-- @module moonlap.uv.check
local bit = require "bit"
local arity = require "moonlap.uv.arity"
local barrier = require "moonlap.uv.barrier"

local _M = {}

local select, type, tonumber, rawget = select, type, tonumber, rawget
local getinfo, getmetatable = debug.getinfo, debug.getmetatable

-- The folder of this library's files, as they appear in `source`.
local HERE = getinfo(1, "S").source:match("^(.*[/\\])[^/\\]*$") or "@"
local FRONT = HERE:gsub("[/\\]$", "") .. ".lua"


local function is_ours(info)
    return info.source:sub(1, #HERE) == HERE or info.source == FRONT or barrier.is(info.func)
end


-- Tail calls keep the levels. A loop here would be tried in vain, again and again, as a part of
-- this function's trace.
local function entry_from(level)
    local caller = getinfo(level + 1, "Sf")
    if not caller or not is_ours(caller) then
        return level - 1, getinfo(level, "n")
    end
    return entry_from(level + 1)
end


-- The stack level, for the caller, of the function of ours that foreign code called, and
-- that call as the debug library knows it.
local function entry()
    return entry_from(2)
end


--- The line that called into this library.
-- @treturn string `file:line`
function _M.caller()
    local info = getinfo(entry() + 1, "Sl")
    return ("%s:%d"):format(info.short_src, info.currentline)
end


--- Raises luv's error for a bad argument.
-- @tparam number position from 1; the object of a method call counts
-- @tparam string message what is wrong with it
function _M.argument_error(position, message)
    local level, call = entry()
    local name = call and call.name or "?"
    if call and call.namewhat == "method" then
        position = position - 1
        if position == 0 then
            error(("calling '%s' on bad self (%s)"):format(name, message), level + 1)
        end
    end
    error(("bad argument #%d to '%s' (%s)"):format(position, name, message), level + 1)
end


--- Raises an error that blames the line that called into this library.
-- @tparam string message
function _M.misuse(message)
    local level = entry()
    error(message, level + 1)
end


-- What an argument is called in an error message.
local function type_name(position, ...)
    if position > select("#", ...) then
        return "no value"
    end
    local value = select(position, ...)
    local level = entry()
    if value == nil and arity.is_missing(getinfo(level, "f").func, position) then
        return "no value"
    end
    return type(value)
end


--- Raises luv's error for an argument of a wrong type.
-- @tparam number position
-- @tparam string expected such as `"string"`
-- @param ... all arguments
function _M.type_error(position, expected, ...)
    _M.argument_error(position, expected .. " expected, got " .. type_name(position, ...))
end


--- A string, or a number as one.
-- @tparam number position
-- @param ... all arguments
-- @treturn string
function _M.string(position, ...)
    local value = select(position, ...)
    if type(value) == "string" then
        return value
    elseif type(value) == "number" then
        return tostring(value)
    end
    return _M.type_error(position, "string", ...)
end


--- A number, or a string that reads as one.
-- @tparam number position
-- @param ... all arguments
-- @treturn number
function _M.number(position, ...)
    local value = select(position, ...)
    if type(value) == "number" then
        return value
    end
    local number = type(value) == "string" and tonumber(value)
    return number or _M.type_error(position, "number", ...)
end


--- A number for a C `int`: what does not fit wraps round as in C.
-- @tparam number position
-- @param ... all arguments
-- @treturn number
function _M.int(position, ...)
    local value = _M.number(position, ...)
    if value >= -2147483648 and value <= 2147483647 then
        return value
    end
    return bit.tobit(value)
end


--- One of some words.
-- @tparam number position
-- @tparam table numbers by word
-- @param ... all arguments
-- @return what `numbers` has for the word
function _M.option(position, numbers, ...)
    local word = _M.string(position, ...)
    return numbers[word] or _M.argument_error(position, ("invalid option '%s'"):format(word))
end


--- A boolean for a C `int`.
-- @tparam number position
-- @param ... all arguments
-- @treturn number 1 for true, 0 for false
function _M.flag(position, ...)
    local value = select(position, ...)
    if type(value) == "boolean" then
        return value and 1 or 0
    end
    return _M.type_error(position, "boolean", ...)
end


--- A number, or `default` for nil or none.
-- @tparam number position
-- @tparam number default
-- @param ... all arguments
-- @treturn number
function _M.opt_number(position, default, ...)
    if (select(position, ...)) == nil then
        return default
    end
    return _M.number(position, ...)
end


--- A table.
-- @tparam number position
-- @param ... all arguments
-- @treturn table
function _M.table(position, ...)
    local value = select(position, ...)
    if type(value) == "table" then
        return value
    end
    return _M.type_error(position, "table", ...)
end


--- Whether a value can be a callback: a function, or what has a function as `__call`.
-- @param value
-- @treturn boolean
function _M.is_callable(value)
    if type(value) == "function" then
        return true
    end
    local meta = getmetatable(value)
    return type(meta) == "table" and type(rawget(meta, "__call")) == "function"
end


--- What luv calls a value's type in the errors that are its own: by its metatable's `__name`,
-- which is that of a handle's class.
-- @tparam number position
-- @param ... all arguments
-- @treturn string such as `"uv_timer"`, `"number"`, `"no value"`
function _M.own_type_name(position, ...)
    local meta = getmetatable((select(position, ...)))
    if type(meta) == "table" then
        local name, class = rawget(meta, "__name"), rawget(meta, "class")
        if type(name) == "string" then
            return name
        elseif type(class) == "table" and class.is_class then
            return "uv_" .. class.name
        end
    end
    return type_name(position, ...)
end


--- Raises one of luv's own type errors, which name a type by its metatable's `__name`.
-- @tparam number position
-- @tparam string expected the words before `expected`
-- @param ... all arguments
function _M.own_type_error(position, expected, ...)
    _M.argument_error(position,
        expected .. " expected, got " .. _M.own_type_name(position, ...))
end


--- A callback that must be given.
-- @tparam number position
-- @param ... all arguments
-- @return what can be called
function _M.callback(position, ...)
    local value = select(position, ...)
    if type(value) == "function" or _M.is_callable(value) then
        return value
    end
    return _M.own_type_error(position, "function or callable table", ...)
end


--- A callback that may be left out.
-- @tparam number position
-- @param ... all arguments
-- @return what can be called, or nil
function _M.opt_callback(position, ...)
    if (select(position, ...)) == nil then
        return nil
    end
    return _M.callback(position, ...)
end


return _M

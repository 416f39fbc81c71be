--- libuv's errors as luv reports them: `nil, "ENOENT: no such file or directory", "ENOENT"`.
-- @module moonlap.uv.errors
local ffi = require "ffi"
local check = require "moonlap.uv.check"
local C = require "moonlap.uv.ffi"

local _M = {}

ffi.cdef [[
char *uv_err_name_r(int err, char *buf, size_t buflen);
char *uv_strerror_r(int err, char *buf, size_t buflen);
int uv_translate_sys_error(int sys_errno);
]]

-- libuv's own texts are shorter. The _r forms, because the others leak for unknown codes.
local TEXT_SIZE = 128
local text = ffi.new("char[?]", TEXT_SIZE)


--- The name of an error code.
-- @tparam number code negative, as libuv returns it
-- @treturn string such as `"ENOENT"`; `"Unknown system error -9999"` for a code without a name
function _M.name(code)
    return (ffi.string(C.uv_err_name_r(code, text, TEXT_SIZE)))
end


--- The words for an error code.
-- @tparam number code negative, as libuv returns it
-- @treturn string such as `"no such file or directory"`
function _M.message(code)
    return (ffi.string(C.uv_strerror_r(code, text, TEXT_SIZE)))
end


--- Name and words of an error code.
-- @tparam number code negative, as libuv returns it
-- @tparam[opt] string about what it happened to: a path, or `from -> to`
-- @treturn string such as `"ENOENT: no such file or directory: x"`
function _M.describe(code, about)
    local line = _M.name(code) .. ": " .. _M.message(code)
    if about then
        line = line .. ": " .. about
    end
    return line
end


--- What a function of luv's API returns when it failed.
-- @tparam number code negative, as libuv returns it
-- @tparam[opt] string about what it happened to
-- @treturn nil
-- @treturn string as `describe` makes it
-- @treturn string the error's name
function _M.fail(code, about)
    return nil, _M.describe(code, about), _M.name(code)
end


--- What a function of luv's API returns that can only succeed or fail.
-- @tparam number code as libuv returns it
-- @treturn number the code, when it is no error
-- @treturn[2] nil
-- @treturn[2] string the error's name and words
-- @treturn[2] string the error's name
function _M.result(code)
    if code < 0 then
        return _M.fail(code)
    end
    return code
end


--- The error argument of luv's callbacks.
-- @tparam number code as libuv reports it
-- @treturn string|nil the error's name, or nil when the code is no error
function _M.status(code)
    if code < 0 then
        return _M.name(code)
    end
    return nil
end


-- Asked of libuv, since the numbers are the system's: errno below, EAI_* and those that no
-- system has further down. Codes without a name of libuv's are left out.
local function read_errno()
    local errno = {}
    for _, range in ipairs { { -1, -150 }, { -3000, -3020 }, { -4020, -4095 } } do
        for code = range[1], range[2], -1 do
            local name = _M.name(code)
            if not name:find("^Unknown") then
                errno[name] = code
            end
        end
    end
    return errno
end


--- luv's functions that are about errors; `errno`, `err_name` and `strerror` go beyond 1.44.2.
local api = {}
_M.api = api

--- Error codes by name, negative numbers: `uv.errno.ENOENT`.
-- @field errno
api.errno = read_errno()


--- The name of an error code of `uv.errno`.
-- @tparam number code negative
-- @treturn string such as `"ENOENT"`
function api.err_name(...)
    return _M.name(check.int(1, ...))
end


--- The words for an error code of `uv.errno`.
-- @tparam number code negative
-- @treturn string such as `"no such file or directory"`
function api.strerror(...)
    return _M.message(check.int(1, ...))
end


--- A system's error number as libuv's error.
-- @tparam number errno the system's number, positive on Unix
-- @treturn string|nil name and words; nothing when it is no error
-- @treturn string the error's name
function api.translate_sys_error(...)
    local code = C.uv_translate_sys_error(check.int(1, ...))
    if code < 0 then
        return _M.describe(code), _M.name(code)
    end
end


return _M

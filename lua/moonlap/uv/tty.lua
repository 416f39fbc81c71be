--- Terminals.
-- @module moonlap.uv.tty

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local queue = require "moonlap.uv.queue"
local stream = require "moonlap.uv.stream"

local _M = {}

ffi.cdef [[
int uv_tty_init(uv_loop_t *, uv_tty_t *, int fd, int readable);
int uv_tty_set_mode(uv_tty_t *, int);
int uv_tty_reset_mode(void);
int uv_tty_get_winsize(uv_tty_t *, int *, int *);
void uv_tty_set_vterm_state(int);
int uv_tty_get_vterm_state(int *);
]]

local EBADF = errors.api.errno.EBADF
local tty_ptr = ffi.typeof "uv_tty_t *"

local methods = stream.methods()
local class = handle.class("tty", methods, stream.hooks(false))

local function open_tty(userdata)
    local h = handle.check(userdata, class)
    return not h.closed and ffi.cast(tty_ptr, h.ptr)
end

local api = {}
_M.api = api

--- A handle for a terminal.
-- @tparam number fd
-- @tparam boolean readable is it for reading?
-- @treturn userdata; or nil, message and name of the error
function api.new_tty(fd, readable)
    fd = check.int(1, fd, readable)
    readable = check.flag(2, fd, readable)
    local h = stream.fields()
    local userdata = handle.new(class, h)
    local memory = handle.memory(h)
    local status = C.uv_tty_init(queue.loop, ffi.cast(tty_ptr, memory), fd, readable)
    if status < 0 then
        return handle.abandon(h, status)
    end
    stream.opened(h)
    return userdata
end

local MODES = { normal = 0, raw = 1, io = 2, raw_vt = C.uv_version() >= 0x013300 and 3 or nil }
local LAST_MODE = MODES.raw_vt or MODES.io

--- Sets the terminal's mode.
-- @tparam userdata tty
-- @tparam string|number mode `"normal"`, `"raw"`, `"io"` (binary-safe), from libuv 1.51 on
--   `"raw_vt"`; or its number, from 0
-- @treturn number 0, or nil, message and name of the error
function api.tty_set_mode(userdata, mode)
    local ptr = open_tty(userdata)
    mode = tonumber(mode) or check.option(2, MODES, userdata, mode)
    if mode < 0 or mode > LAST_MODE then
        check.argument_error(2, "Unknown tty mode value")
    end
    return errors.result(ptr and C.uv_tty_set_mode(ptr, mode) or EBADF)
end

--- Puts the terminal's first mode back.
-- @treturn number 0, or nil, message and name of the error
function api.tty_reset_mode()
    return errors.result(C.uv_tty_reset_mode())
end

--- The terminal's size.
-- @tparam userdata tty
-- @treturn number columns; or nil, message and name of the error
-- @treturn number rows
function api.tty_get_winsize(userdata)
    local ptr = open_tty(userdata)
    local width, height = ffi.new "int[1]", ffi.new "int[1]"
    local status = ptr and C.uv_tty_get_winsize(ptr, width, height) or EBADF
    if status < 0 then
        return errors.fail(status)
    end
    return width[0], height[0]
end

local STATES = { supported = 0, unsupported = 1 }

--- Windows only: are ANSI sequences understood?
-- @tparam string state `"supported"` or `"unsupported"`
function api.tty_set_vterm_state(state)
    C.uv_tty_set_vterm_state(check.option(1, STATES, state))
end

--- Windows only: are ANSI sequences understood?
-- @treturn string; or nil, message and name of the error (`ENOTSUP` elsewhere)
function api.tty_get_vterm_state()
    local state = ffi.new "int[1]"
    local status = C.uv_tty_get_vterm_state(state)
    if status < 0 then
        return errors.fail(status)
    end
    return state[0] == 0 and "supported" or "unsupported"
end

methods.set_mode, methods.get_winsize = api.tty_set_mode, api.tty_get_winsize

return _M

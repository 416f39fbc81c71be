--- poll: tells when a descriptor can be read from or written to.
-- @module moonlap.uv.poll

local ffi = require "ffi"
local bit = require "bit"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local queue = require "moonlap.uv.queue"

local _M = {}

ffi.cdef [[
int uv_poll_init(uv_loop_t *, uv_poll_t *, int fd);
int uv_poll_start(uv_poll_t *, int events, uv_poll_cb);
int uv_poll_stop(uv_poll_t *);
]]

local EBADF = errors.api.errno.EBADF
local band = bit.band

local poll_ptr = ffi.typeof "uv_poll_t *"
local on_poll = queue.callback "poll"

-- luv's words: letters in this order. libuv's bits: 1, 2, 4, 8.
local LETTERS = { "r", "w", "d", "p" }
local words, masks = { [0] = "" }, {}
for mask = 1, 15 do
    local word = ""
    for i, letter in ipairs(LETTERS) do
        if band(mask, 2 ^ (i - 1)) ~= 0 then
            word = word .. letter
        end
    end
    words[mask], masks[word] = word, mask
end

local methods = {}
local class = handle.class("poll", methods)

-- A callback before this one may have stopped the handle or asked for other events.
queue.on[queue.KIND.poll] = function(id, status, extra)
    local h = handle.by_id[id]
    local events = band(extra, h.mask)
    if h.closing or h.mask == 0 or (status == 0 and events == 0) then
        return
    end
    local err
    if status < 0 then
        io.stderr:write(errors.describe(status), "\n") -- as luv does
        err = errors.name(status)
    end
    return h.callback, err, words[events]
end

local new_record = handle.c_record_maker "mask = 0"

local api = {}
_M.api = api

--- Watches a descriptor, which has to outlive the handle.
-- @tparam number fd
-- @treturn userdata; or nil, message and name of the error
function api.new_poll(fd)
    fd = check.int(1, fd)
    local h = new_record()
    local userdata = handle.new(class, h)
    local status = C.uv_poll_init(queue.loop, ffi.cast(poll_ptr, handle.memory(h)), fd)
    if status < 0 then
        return handle.abandon(h, status)
    end
    return userdata
end

--- The same as `uv.new_poll`; it differs on Windows only.
-- @function new_socket_poll
-- @tparam number fd
-- @treturn userdata; or nil, message and name of the error
api.new_socket_poll = api.new_poll

--- Starts to watch.
-- @tparam userdata poll
-- @tparam[opt="rw"] string events letters of `rwdp` in this order: readable, writable,
--   disconnected, prioritised
-- @tparam function callback `err`, the events that came
-- @treturn number 0, or nil, message and name of the error
function api.poll_start(userdata, events, callback)
    local h = handle.check(userdata, class)
    local mask = events == nil and masks.rw or check.option(2, masks, userdata, events)
    check.callback(3, userdata, events, callback)
    if h.closing then
        return errors.fail(EBADF)
    end
    h.callback = callback
    local status = C.uv_poll_start(ffi.cast(poll_ptr, h.ptr), mask, on_poll)
    if status < 0 then
        return errors.fail(status)
    end
    h.mask = mask
    return status
end

--- Stops watching.
-- @tparam userdata poll
-- @treturn number 0
function api.poll_stop(userdata)
    local h = handle.check(userdata, class)
    h.mask = 0
    if h.closed then
        return 0
    end
    return errors.result(C.uv_poll_stop(ffi.cast(poll_ptr, h.ptr)))
end

methods.start, methods.stop = api.poll_start, api.poll_stop

return _M

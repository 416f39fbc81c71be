--- What tcp, pipe and tty share: listening and accepting; `reading` and `writing` have the rest.
--
-- A connection is accepted by the shim as soon as it arrives, so that libuv goes on accepting in
-- the same turn; `uv.accept` then hands it out.
-- @module moonlap.uv.stream

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local closing = require "moonlap.uv.closing"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local pending = require "moonlap.uv.pending"
local queue = require "moonlap.uv.queue"
local stash = require "moonlap.uv.stash"

local _M = {}

ffi.cdef [[
int uv_listen(uv_stream_t *, int backlog, uv_connection_cb);
int uv_accept(uv_stream_t *server, uv_stream_t *client);
int uv_is_readable(const uv_stream_t *);
int uv_is_writable(const uv_stream_t *);
int uv_stream_set_blocking(uv_stream_t *, int);
size_t uv_stream_get_write_queue_size(const uv_stream_t *);
int uv_tcp_open(uv_tcp_t *, int);
int uv_pipe_open(uv_pipe_t *, int);
int uv_fileno(const uv_handle_t *, int *);
int moonlap_uv_dup(int fd) __asm__("dup");
int moonlap_uv_close(int fd) __asm__("close");
]]

local on_connection = queue.callback "connection"
local stream_ptr = ffi.typeof "uv_stream_t *"
local handle_ptr = ffi.typeof "uv_handle_t *"

local by_id = handle.by_id
local check_stream = handle.check_stream
local EBADF = errors.api.errno.EBADF
local type = type

--- A new record of a stream. With what every record has, these are sixteen fields, beyond which a
-- table is twice as large: those that few streams need are missing until then.
-- @function fields
-- @treturn table h, for `handle.new`
_M.fields = handle.record_maker [[
    ptr = false, id = 0, closed_in_c = false,
    stream = false, -- the pointer, cast once
    deliver = false, -- how what is read is handed over; false: it is not, now
    read_callback = false,
    done = false, -- see moonlap.uv.pending
    close_callback = false,
    -- Missing at first: ipc; stash, is_stashed: what was read and not delivered;
    -- connection_callback, accepted: of a server.
]]

--- Sets the pointer of a stream that has its memory.
function _M.opened(h)
    h.stream = ffi.cast(stream_ptr, h.ptr)
    return h.ptr
end

--- The pointer of a stream that is not closed; it is initialised now if it was not yet.
-- @treturn cdata uv_stream_t *
function _M.pointer(h)
    if not h.stream then
        h.class.init(h)
    end
    return h.stream
end

local pointer = _M.pointer

-- -- connections --------------------------------------------------------------------------------

queue.on[queue.KIND.connection] = function(id, result, _, data)
    local h = by_id[id]
    local memory = data()
    if h.closing then
        if memory ~= nil then
            closing.close_memory(memory)
        end
        return
    end
    if memory ~= nil then
        local accepted = h.accepted
        accepted.n = accepted.n + 1
        accepted[accepted.n] = memory
    end
    return h.connection_callback, errors.status(result)
end

local function close_unaccepted(h)
    local accepted = h.accepted
    for i = accepted.first, accepted.n do
        closing.close_memory(accepted[i])
    end
    h.accepted = false
end

-- Hands a connection to a handle that libuv has initialised already, so that it cannot take over
-- the memory: it gets a duplicate of the descriptor.
local function move(memory, h)
    local fd = ffi.new "int[1]"
    C.uv_fileno(ffi.cast(handle_ptr, memory), fd)
    local copy = ffi.C.moonlap_uv_dup(fd[0])
    closing.close_memory(memory)
    if copy < 0 then
        return (C.uv_translate_sys_error(ffi.errno()))
    end
    local status
    if h.class.name == "tcp" then
        status = C.uv_tcp_open(ffi.cast("uv_tcp_t *", pointer(h)), copy)
    else
        status = C.uv_pipe_open(ffi.cast("uv_pipe_t *", pointer(h)), copy)
    end
    if status < 0 then
        ffi.C.moonlap_uv_close(copy)
    end
    return status
end

-- -- closing ------------------------------------------------------------------------------------

--- What a stream does when it is closed: the hooks of its class.
-- @tparam function init `init(h)` gives it libuv's handle
-- @treturn table for `handle.class`
function _M.hooks(init)
    return {
        init = init,
        last_calls = pending.last_calls,
        stop = function(h)
            stash.forget(h)
            h.read_callback = false
            if h.accepted then
                h.connection_callback = false
                close_unaccepted(h)
            end
        end,
    }
end

-- -- luv's functions ----------------------------------------------------------------------------

local api = {}
_M.api = api

--- Listens for connections.
-- @tparam userdata server
-- @tparam number backlog
-- @tparam function callback `err`; it should call `uv.accept`
-- @treturn number 0, or nil, message and name of the error
function api.listen(userdata, backlog, callback)
    local h = check_stream(userdata)
    backlog = check.int(2, userdata, backlog, callback)
    check.callback(3, userdata, backlog, callback)
    if h.closed then
        return errors.fail(EBADF)
    end
    h.connection_callback = callback
    h.accepted = h.accepted or { first = 1, n = 0 }
    return errors.result(C.uv_listen(pointer(h), backlog, on_connection))
end

--- Takes a connection, or a handle that came over a pipe.
-- @tparam userdata server
-- @tparam userdata client a new handle
-- @treturn number 0, or nil and an error: `EAGAIN` when there is none
function api.accept(server, client)
    local h, c = check_stream(server), check_stream(client, 2)
    if h.closed or c.closed then
        return errors.fail(EBADF)
    end
    local accepted = h.accepted
    if not accepted or accepted.first > accepted.n then
        return errors.result(C.uv_accept(pointer(h), pointer(c)))
    end
    local memory = accepted[accepted.first]
    accepted[accepted.first] = nil
    accepted.first = accepted.first + 1
    if accepted.first > accepted.n then
        accepted.first, accepted.n = 1, 0
    end
    C.uvshim_claimed(h.stream)
    if c.ptr or c.class ~= h.class or c.ipc then
        return errors.result(move(memory, c))
    end
    handle.adopt(c, memory)
    _M.opened(c)
    return 0
end

--- Can it be read from?
-- @tparam userdata stream
-- @treturn boolean
function api.is_readable(userdata)
    local h = check_stream(userdata)
    return not h.closed and C.uv_is_readable(pointer(h)) ~= 0
end

--- Can it be written to?
-- @tparam userdata stream
-- @treturn boolean
function api.is_writable(userdata)
    local h = check_stream(userdata)
    return not h.closed and C.uv_is_writable(pointer(h)) ~= 0
end

--- Makes writes wait for the kernel, or not.
-- @tparam userdata stream
-- @tparam boolean blocking
-- @treturn number 0, or nil, message and name of the error
function api.stream_set_blocking(userdata, blocking)
    local h = check_stream(userdata)
    if type(blocking) ~= "boolean" then
        check.type_error(2, "boolean", userdata, blocking)
    end
    if h.closed then
        return errors.fail(EBADF)
    end
    return errors.result(C.uv_stream_set_blocking(pointer(h), blocking and 1 or 0))
end

--- How many bytes wait to be written.
-- @tparam userdata stream
-- @treturn number
function api.stream_get_write_queue_size(userdata)
    local h = check_stream(userdata)
    return h.closed and 0 or tonumber(C.uv_stream_get_write_queue_size(pointer(h)))
end

--- The methods of every stream; a class adds its own.
-- @treturn table
function _M.methods()
    local methods = {}
    for _, name in ipairs { "listen", "accept", "is_readable", "is_writable" } do
        methods[name] = api[name]
    end
    -- Those modules need this one in their turn.
    for _, name in ipairs { "reading", "writing" } do
        for key, fn in pairs(require("moonlap.uv." .. name).api) do
            methods[key] = fn
        end
    end
    methods.set_blocking = api.stream_set_blocking
    methods.get_write_queue_size = api.stream_get_write_queue_size
    return methods
end

return _M

--- What all handles share: the userdata and its record, the list of live ones, closing.
--
-- A handle is a userdata, as in luv; its record is a table `h`, which is its metatable: so it is
-- found without a search, and a handle which is closed and forgotten can be collected. While it
-- is not closed, it stands in an array in the order of creation, which keeps it alive, as luv
-- does. Handles of libuv get their C memory when they first need it (`handle.memory`), because an
-- accepted connection comes with its own; timer, idle, prepare and check have none.
-- @module moonlap.uv.handle

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local queue = require "moonlap.uv.queue"
local shimless = require "moonlap.uv.shimless"
local loop = require "moonlap.uv.loop"
local check = require "moonlap.uv.check"
local dispatch = require "moonlap.uv.dispatch"
local errors = require "moonlap.uv.errors"
local fault = require "moonlap.uv.fault"

local _M = {}

ffi.cdef [[
int uv_is_active(const uv_handle_t *);
void uv_ref(uv_handle_t *);
void uv_unref(uv_handle_t *);
int uv_has_ref(const uv_handle_t *);
int uv_send_buffer_size(uv_handle_t *, int *);
int uv_recv_buffer_size(uv_handle_t *, int *);
int uv_fileno(const uv_handle_t *, int *);
]]

local q = queue.q
local handle_ptr = ffi.typeof "uv_handle_t *"
local on_close = queue.callback "close"

-- uv_handle_type by luv's names.
local TYPES = {
    async = 1, check = 2, fs_event = 3, fs_poll = 4, idle = 6, pipe = 7, poll = 8, prepare = 9,
    process = 10, tcp = 12, timer = 13, tty = 14, udp = 15, signal = 16,
}

local getmetatable, set_metatable, newproxy, type = getmetatable, debug.setmetatable, newproxy, type

-- Live handles in the order of their creation, with holes where one was closed.
local live, n_live, n_holes = {}, 0, 0

-- Handles with C memory by id; the ids that are free again.
local by_id, free_ids = {}, {}
local newest, n_free = 0, 0

--- How many handles have C memory.
_M.in_c = 0

--- The methods of every class, in no order.
_M.method_tables = {}

--- Is it noted where handles are made?
_M.traced = false

--- Records by the id in an event.
_M.by_id = by_id

--- A kind of handle.
-- @tparam string name luv's name: `tcp` makes `uv_tcp_t`
-- @tparam table methods what its userdata can do, beside what all handles can
-- @tparam[opt] table hooks functions of the record: `stop(h)` is called when it is closed and
--   `last_calls(h)` before its close callback; handles that live in Lua have `is_active(h)`,
--   those of libuv that start lazily `init(h)`, which returns their pointer
-- @treturn table the class, for `new` and `check`
function _M.class(name, methods, hooks)
    hooks = hooks or {}
    _M.method_tables[#_M.method_tables + 1] = methods
    for key, value in pairs(_M.methods) do
        methods[key] = value
    end
    return {
        name = name, type = TYPES[name], methods = methods, is_class = true,
        tostring = function(userdata)
            return ("uv_%s_t: %p"):format(name, userdata)
        end,
        stop = hooks.stop or false, is_active = hooks.is_active or false,
        init = hooks.init or false, last_calls = hooks.last_calls or false,
        is_stream = hooks.is_stream or false,
    }
end

--- A maker of records for kinds of which there are many: it makes the table in its final size.
-- @tparam string fields those of the kind, as in a table constructor
-- @treturn function() a new record for `new`
function _M.record_maker(fields)
    return assert(loadstring([[return {
        __index = false, __tostring = false, class = false, userdata = false, place = 0,
        referenced = true, closing = false, closed = false, close_callback = false, ]]
        .. fields .. "}", "=record_maker"))
end

--- A new handle. Its record gets the fields that every record has; one with C memory has also
-- `id`, `ptr`, `closed_in_c` (libuv is done with it) and `is_late`.
-- @tparam table class
-- @tparam table h its record: the fields that its class needs
-- @treturn userdata
function _M.new(class, h)
    local userdata = newproxy()
    h.__index, h.__tostring = class.methods, class.tostring
    h.class, h.userdata = class, userdata
    h.referenced, h.closing, h.closed, h.close_callback = true, false, false, false
    n_live = n_live + 1
    live[n_live], h.place = h, n_live
    set_metatable(userdata, h)
    if _M.traced then
        h.made = check.caller()
    end
    return userdata
end

--- The record of a handle of a class.
-- @param userdata
-- @tparam table class
-- @treturn table h; raises an error for anything else
function _M.check(userdata, class)
    local h = type(userdata) == "userdata" and getmetatable(userdata)
    if type(h) ~= "table" or h.class ~= class then
        check.type_error(1, "uv_" .. class.name, userdata)
    end
    return h
end

--- The record of any handle.
-- @param userdata
-- @treturn table h, or nil when it is no handle
function _M.record(userdata)
    local h = type(userdata) == "userdata" and getmetatable(userdata)
    return type(h) == "table" and h.class and h.class.is_class and h or nil
end

local record = _M.record

--- The record of a stream.
-- @param userdata
-- @tparam[opt=1] number position
-- @treturn table h; raises an error for anything else
function _M.check_stream(userdata, position)
    local h = type(userdata) == "userdata" and getmetatable(userdata)
    if type(h) ~= "table" or not h.class or not h.class.is_stream then
        check.argument_error(position or 1, "Expected uv_stream userdata")
    end
    return h
end

local function check_handle(userdata)
    local h = record(userdata)
    if not h then
        check.argument_error(1, "Expected uv_handle userdata")
    end
    return h
end

local function take_id(h)
    local id
    if n_free > 0 then
        id = free_ids[n_free]
        n_free = n_free - 1
    else
        newest = newest + 1
        id = newest
    end
    by_id[id] = h
    h.id = id
    _M.in_c = _M.in_c + 1
    return id
end

local function give_id_back(h)
    n_free = n_free + 1
    free_ids[n_free] = h.id
    by_id[h.id] = nil
    h.id = 0
    _M.in_c = _M.in_c - 1
end

local function close_holes()
    local n = 0
    for i = 1, n_live do
        local h = live[i]
        if h then
            n = n + 1
            live[n], h.place = h, n
        end
    end
    for i = n + 1, n_live do
        live[i] = nil
    end
    n_live, n_holes = n, 0
end

local function forget(h)
    live[h.place] = false
    n_holes = n_holes + 1
    if n_holes > 32 and n_holes > n_live / 2 then
        close_holes()
    end
end

--- C memory for a handle; the caller initialises it at once. Raises an error when there is none.
-- @treturn cdata void pointer
function _M.memory(h)
    local memory = C.uvshim_handle(q, h.class.type, take_id(h))
    if memory == nil then
        give_id_back(h)
        if not h.class.init then -- it is being made, and nobody will ever see it
            forget(h)
            h.userdata, h.closing, h.closed = false, true, true
        end
        check.misuse(shimless.reason or "not enough memory")
    end
    h.ptr = ffi.cast(handle_ptr, memory)
    return memory
end

--- Takes over memory that the shim has made and initialised.
-- @tparam table h
-- @tparam cdata memory
function _M.adopt(h, memory)
    C.uvshim_set_id(memory, take_id(h))
    h.ptr = ffi.cast(handle_ptr, memory)
end

--- Forgets a handle whose init failed.
-- @treturn nil
-- @treturn string libuv's error
-- @treturn string its name
function _M.abandon(h, status)
    forget(h)
    C.uvshim_free(q, h.ptr)
    give_id_back(h)
    h.ptr, h.userdata, h.closing, h.closed = false, false, true, true
    return errors.fail(status)
end

-- -- closing ------------------------------------------------------------------------------------

-- Handles to finish, last closed first, as libuv does; then those that a closing phase is at.
local closing, n_closing = {}, 0
local finishing, at = {}, 0
local waits_for_c = false

--- Is a handle waiting for the closing phase?
function _M.is_closing_due()
    return n_closing > 0 or at > 0
end

local function close_later(h)
    n_closing = n_closing + 1
    closing[n_closing] = h
end

--- Closes a handle.
-- @tparam table h not closing yet
-- @param callback what to call then, or false
-- @tparam[opt=false] boolean is_closed libuv's handle is being closed already, with `on_close`
function _M.close(h, callback, is_closed)
    local stop = h.class.stop
    if stop then
        stop(h)
    end
    h.closing, h.close_callback = true, callback
    if h.ptr then
        if not is_closed then
            C.uv_close(h.ptr, on_close)
        end
        waits_for_c = true
    end
    close_later(h)
end

--- The callback that every closed handle must have.
_M.on_close = on_close

--- Closes a handle that the shim has made and Lua has not adopted.
-- @tparam cdata memory
function _M.close_memory(memory)
    C.uv_close(ffi.cast(handle_ptr, memory), on_close)
end

--- libuv is done with a handle's memory: dispatch of CLOSED.
function _M.closed_in_c(event)
    local h = by_id[event.id]
    if not h then -- a connection that nobody accepted
        C.uvshim_free(q, event.data)
        return
    end
    h.closed_in_c = true
    if h.is_late then
        close_later(h)
    end
end

-- The end of the record; returns the close callback.
local function finish(h)
    forget(h)
    if h.ptr then
        C.uvshim_free(q, h.ptr)
        give_id_back(h)
        h.ptr = false
    end
    h.closed = true
    local callback = h.close_callback
    h.close_callback, h.userdata = false, false
    if h.callback then
        h.callback = false -- it may hold the userdata, which would then never be collected
    end
    return callback
end

--- The closing phase: every handle that was closed before it, the last one first.
function _M.run_closing()
    if at == 0 then
        if n_closing == 0 then
            return queue.drain_closing()
        end
        closing, finishing = finishing, closing
        at, n_closing = n_closing, 0
        if waits_for_c then
            -- libuv's own closing phase: what it cancels and closes arrives in the second vector.
            waits_for_c = false
            C.uvshim_poll(q, 0)
        end
    end
    while at > 0 do
        local h = finishing[at]
        if h.class.last_calls then
            h.class.last_calls(h)
        end
        while h.ptr and not h.closed_in_c and queue.next_closing() do
            queue.dispatch_closing()
        end
        if h.class.last_calls then
            h.class.last_calls(h) -- those that stood behind a request which was cancelled
        end
        finishing[at] = nil
        at = at - 1
        if h.ptr and not h.closed_in_c then
            h.is_late = true -- libuv waits for something of its own, such as a stat of fs_poll
        else
            dispatch.call(finish(h))
        end
    end
    queue.drain_closing()
end

jit.off(_M.run_closing)

queue.on[queue.KIND.closed] = _M.closed_in_c

-- -- luv's functions ----------------------------------------------------------------------------

local api = {}
_M.api = api

--- Is it doing something: a timer waiting, a stream reading, …?
-- @tparam userdata handle
-- @treturn boolean
function api.is_active(userdata)
    local h = check_handle(userdata)
    local is_active = h.class.is_active
    if is_active then
        return is_active(h)
    end
    return h.ptr and C.uv_is_active(h.ptr) ~= 0 or false
end

--- Is it closing or closed?
-- @tparam userdata handle
-- @treturn boolean
function api.is_closing(userdata)
    return check_handle(userdata).closing
end

--- Closes a handle; `callback` comes in the loop's closing phase. Raises an error when it is
-- closing already.
-- @tparam userdata handle
-- @tparam[opt] function callback without arguments
function api.close(userdata, callback)
    local h = check_handle(userdata)
    if h.closing then
        check.misuse(("handle %p is already closing"):format(userdata))
    end
    if callback ~= nil and type(callback) ~= "function" then
        check.callback(2, userdata, callback)
    end
    _M.close(h, callback or false)
end

--- Lets an active handle keep the loop alive; so it is from the start.
-- @tparam userdata handle
function api.ref(userdata)
    local h = check_handle(userdata)
    if h.class.is_active then
        if not h.referenced and h.class.is_active(h) then
            loop.add_ref(1)
        end
    elseif not h.closed then
        C.uv_ref(_M.pointer(h))
    end
    h.referenced = true
end

--- Lets the loop end although the handle is active.
-- @tparam userdata handle
function api.unref(userdata)
    local h = check_handle(userdata)
    if h.class.is_active then
        if h.referenced and h.class.is_active(h) then
            loop.add_ref(-1)
        end
    elseif not h.closed then
        C.uv_unref(_M.pointer(h))
    end
    h.referenced = false
end

--- Does it keep the loop alive when it is active?
-- @tparam userdata handle
-- @treturn boolean
function api.has_ref(userdata)
    return check_handle(userdata).referenced
end

-- luv: no size, or 0, asks; anything else sets.
local function buffer_size(call, userdata, size, ...)
    local h = check_handle(userdata)
    local box = ffi.new("int[1]", check.opt_number(2, 0, userdata, size, ...))
    local asked = box[0] == 0
    if h.class.is_active then
        return errors.fail(errors.api.errno.ENOTSUP)
    end
    if h.closed then
        return errors.fail(errors.api.errno.EBADF)
    end
    local status = call(_M.pointer(h), box)
    if status < 0 then
        return errors.fail(status)
    end
    return asked and box[0] or status
end

--- The size of the socket's send buffer.
-- @tparam userdata handle
-- @tparam[opt=0] number size bytes to set it to; 0 asks
-- @treturn number bytes when asked, else 0
function api.send_buffer_size(...)
    local size, err, name = buffer_size(C.uv_send_buffer_size, ...)
    return size, err, name
end

--- The size of the socket's receive buffer.
-- @tparam userdata handle
-- @tparam[opt=0] number size bytes to set it to; 0 asks
-- @treturn number bytes when asked, else 0
function api.recv_buffer_size(...)
    local size, err, name = buffer_size(C.uv_recv_buffer_size, ...)
    return size, err, name
end

--- The handle's file descriptor.
-- @tparam userdata handle
-- @treturn number
function api.fileno(userdata)
    local h = check_handle(userdata)
    if h.class.is_active then
        return errors.fail(errors.api.errno.EINVAL)
    end
    if h.closed then
        return errors.fail(errors.api.errno.EBADF)
    end
    local fd = ffi.new "int[1]"
    local status = C.uv_fileno(_M.pointer(h), fd)
    if status < 0 then
        return errors.fail(status)
    end
    return fd[0]
end

--- A handle's type.
-- @tparam userdata handle
-- @treturn string name
-- @treturn number uv_handle_type
function api.handle_get_type(userdata)
    local class = check_handle(userdata).class
    return class.name, class.type
end

--- Calls a function with every handle that is not closed, in the order of their creation.
-- @tparam function callback of the handle
function api.walk(callback)
    if type(callback) ~= "function" then
        check.type_error(1, "function", callback)
    end
    local list, n = {}, 0
    for i = 1, n_live do
        local h = live[i]
        if h then
            n = n + 1
            list[n] = h.userdata
        end
    end
    for i = 1, n do
        xpcall(callback, fault.report, list[i])
    end
end

--- The methods of every handle, by luv's names.
_M.methods = {
    is_active = api.is_active, is_closing = api.is_closing, close = api.close, ref = api.ref,
    unref = api.unref, has_ref = api.has_ref, send_buffer_size = api.send_buffer_size,
    recv_buffer_size = api.recv_buffer_size, fileno = api.fileno, get_type = api.handle_get_type,
}

--- The pointer of a handle that is not closed; it is initialised now if it was not yet.
-- @treturn cdata uv_handle_t *
function _M.pointer(h)
    return h.ptr or h.class.init(h)
end

return _M

--- async: wakes the loop, also from another thread.
--
-- What goes to another Lua state is not the handle but its mailbox (csrc/uvshim/mailbox.c), which
-- can do nothing but send.
-- @module moonlap.uv.async

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local handle = require "moonlap.uv.handle"
local message = require "moonlap.uv.message"
local queue = require "moonlap.uv.queue"

local _M = {}

ffi.cdef [[
int uv_async_init(uv_loop_t *, uv_async_t *, uv_async_cb);
int uvshim_async_send(uv_async_t *);
typedef struct uvshim_mailbox uvshim_mailbox;
uvshim_mailbox *uvshim_mailbox_of(uv_async_t *);
void uvshim_mailbox_hold(uvshim_mailbox *);
void uvshim_mailbox_drop(uvshim_mailbox *);
void uvshim_mailbox_close(uvshim_mailbox *);
int uvshim_mailbox_send(uvshim_mailbox *, const char *message, size_t size);
char *uvshim_mailbox_take(uvshim_mailbox *, size_t *size);
void uvshim_message_free(char *);
]]

-- luv's limit.
local MOST_ARGUMENTS = 9

local async_ptr = ffi.typeof "uv_async_t *"
local on_async = queue.callback "async"

local mailbox_ptr = ffi.typeof "uvshim_mailbox *"
local size_box = ffi.new "size_t[1]"
local min, type = math.min, type

-- An address: what a message can carry.
local function number_of(box)
    return (tonumber(ffi.cast("uintptr_t", box)))
end

local function box_at(number)
    return (ffi.cast(mailbox_ptr, ffi.cast("uintptr_t", number)))
end

-- -- at home: the state that has the handle -----------------------------------------------------

-- Records of asyncs with a mailbox, by its address.
local shared = {}

local methods = {}
local class = handle.class("async", methods, {
    stop = function(h)
        if h.box then
            C.uvshim_mailbox_close(h.box)
            shared[number_of(h.box)] = nil
        end
    end,
})

-- The message that waits, or nil.
local function take(h)
    local text = h.box and C.uvshim_mailbox_take(h.box, size_box)
    return text ~= nil and text or nil
end

local function freed(text, ...)
    C.uvshim_message_free(text)
    return ...
end

-- What was sent last is called back with, and once: when it was sent after libuv had made this
-- record, then another record comes, which has nothing left to tell.
queue.on[queue.KIND.async] = function(id)
    local h = handle.by_id[id]
    if h.closing then
        return
    end
    local sent_here, first, second, text = h.arguments, h.first, h.second, take(h)
    h.arguments, h.first, h.second = false, false, false
    if text then
        return h.callback, freed(text, message.decode(ffi.string(text, size_box[0])))
    elseif sent_here == 0 then
        return h.callback
    elseif sent_here == 1 then
        return h.callback, first
    elseif sent_here == 2 then
        return h.callback, first, second
    elseif sent_here then
        return h.callback, unpack(sent_here, 1, sent_here.n)
    end
end

-- -- elsewhere ----------------------------------------------------------------------------------

-- Mailboxes of other states' asyncs, by the userdata that stands for one here.
local boxes = setmetatable({}, { __mode = "k" })
local stand_in = newproxy(true)

local function mailbox(h)
    if not h.box then
        local box = C.uvshim_mailbox_of(ffi.cast(async_ptr, h.ptr))
        if box == nil then
            error "not enough memory"
        end
        h.box = box
        shared[number_of(box)] = h
    end
    return h.box
end

message.kinds.A = {
    to = function(userdata)
        local h = handle.record(userdata)
        local box = boxes[userdata]
        if h and h.class == class and not h.closing then
            box = mailbox(h)
        end
        return box and number_of(box)
    end,
    hold = function(number)
        C.uvshim_mailbox_hold(box_at(number))
    end,
    from = function(number)
        if shared[number] then
            return shared[number].userdata
        end
        local userdata, box = newproxy(stand_in), box_at(number)
        C.uvshim_mailbox_hold(box)
        boxes[userdata] = ffi.gc(box, C.uvshim_mailbox_drop)
        return userdata
    end,
}

-- -- luv's functions ----------------------------------------------------------------------------

local api = {}
_M.api = api

local new_record = handle.record_maker
    -- arguments: what was sent last and has not come yet: false; a table; or how many, up to two
    [[ptr = false, id = 0, closed_in_c = false, callback = false, box = false,
    arguments = false, first = false, second = false]]

--- A handle that calls back after `send`; several may make one call.
-- @tparam function callback of what was sent last
-- @treturn userdata; or nil, message and name of the error
function api.new_async(callback)
    if type(callback) ~= "function" then
        check.type_error(1, "function", callback)
    end
    local h = new_record()
    h.callback = callback
    local userdata = handle.new(class, h)
    local memory = ffi.cast(async_ptr, handle.memory(h))
    local status = C.uv_async_init(queue.loop, memory, on_async)
    if status < 0 then
        return handle.abandon(h, status)
    end
    return userdata
end

local SCALARS = {
    ["nil"] = true, boolean = true, number = true, string = true, userdata = true,
}

-- Straight, without varargs: a program may send often. With the first two they are MOST_ARGUMENTS.
local function are_scalars(c, d, e, f, g, h, i)
    return SCALARS[type(c)] and SCALARS[type(d)] and SCALARS[type(e)] and SCALARS[type(f)]
        and SCALARS[type(g)] and SCALARS[type(h)] and SCALARS[type(i)]
end

local function refuse(...)
    for i = 1, MOST_ARGUMENTS do
        local kind = type((select(i, ...)))
        if not SCALARS[kind] then
            check.misuse(("Error: thread arg not support type '%s' at %d"):format(kind, i))
        end
    end
end

local function send_here(record, n, a, b, c, d, e, f, g, h, i)
    if not (SCALARS[type(a)] and SCALARS[type(b)]
        and (n <= 2 or are_scalars(c, d, e, f, g, h, i))) then
        refuse(a, b, c, d, e, f, g, h, i)
    end
    if record.closed then
        return errors.fail(errors.api.errno.EINVAL)
    end
    if record.box then
        local older = take(record)
        if older then
            C.uvshim_message_free(older)
        end
    end
    local is_under_way = record.arguments
    if n <= 2 then -- most send so few
        record.arguments, record.first, record.second = n, a, b
    else
        record.arguments = { a, b, c, d, e, f, g, h, i, n = n }
    end
    if is_under_way then -- that wakes the loop, and brings this instead
        return 0
    end
    local status = C.uvshim_async_send(ffi.cast(async_ptr, record.ptr))
    if status < 0 then
        return errors.fail(status)
    end
    return status
end

local function send_away(box, ...)
    local text, err = message.encode(0, ...)
    if not text then
        check.misuse(err)
    end
    return errors.result(C.uvshim_mailbox_send(box, text, #text))
end

--- Wakes the handle's loop, from any thread. Of what is sent before the loop gets to it, only the
-- last comes.
-- @tparam userdata async
-- @param ... up to nine values for the callback; to another thread as for `uv.new_thread`
-- @treturn number 0, or nil, message and name of the error: `EINVAL` when it is closed
function api.async_send(userdata, ...)
    local box = userdata ~= nil and boxes[userdata]
    if box then
        return send_away(box, ...)
    end
    local record, n = handle.check(userdata, class), select("#", ...)
    local a, b, c, d, e, f, g, h, i = ...
    return send_here(record, min(n, MOST_ARGUMENTS), a, b, c, d, e, f, g, h, i)
end

methods.send = api.async_send

local meta = getmetatable(stand_in)
meta.__index = { send = api.async_send }
meta.__tostring = function(userdata)
    return ("uv_async_t: %p"):format(userdata)
end

return _M

--- What all handles share: the userdata and its record, their C memory, the list of live ones.
--
-- A handle is a userdata, as in luv; its record is a table `h`, which is its metatable: so it is
-- found without a search, and a handle which is closed and forgotten can be collected. Timers alone
-- share a metatable and have records of another kind (`moonlap.uv.timer_records`). While a handle
-- is not closed, it stands in an array in the order of creation, which keeps it alive, as luv
-- does. Handles of libuv get their C memory when they first need it (`handle.memory`): many never
-- do, and an accepted connection comes with its own. Asyncs, and what makes a socket or takes a
-- descriptor, need it at once; timer, idle, prepare and check have none.
-- @module moonlap.uv.handle

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local queue = require "moonlap.uv.queue"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local timer_records = require "moonlap.uv.timer_records"
local userdatas = require "moonlap.uv.userdata"

local _M = {}

local q = queue.q
local handle_ptr = ffi.typeof "uv_handle_t *"

-- uv_handle_type by luv's names.
local TYPES = {
    async = 1, check = 2, fs_event = 3, fs_poll = 4, idle = 6, pipe = 7, poll = 8, prepare = 9,
    process = 10, tcp = 12, timer = 13, tty = 14, udp = 15, signal = 16,
}

local getmetatable, new_userdata = debug.getmetatable, userdatas.of
local type, max = type, math.max

-- Live handles in the order of their creation, with holes where one was closed.
local live, n_live, n_holes = {}, 0, 0
local numbers = {} -- in the order of creation, timers included

-- Handles with C memory by id; the ids that are free again.
local by_id, free_ids = {}, {}
local newest, n_free = 0, 0

--- How many handles have C memory.
_M.in_c = 0

--- The methods of every class, in no order.
_M.method_tables = {}

--- Is it noted where handles are made?
_M.traced = false

--- Where those were made: `file:line` by userdata.
_M.made = setmetatable({}, { __mode = "k" })

local numbered = 0

--- The next number in the order of creation.
function _M.number()
    numbered = numbered + 1
    return numbered
end

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
    local functions = require "moonlap.uv.handle_functions" -- which needs this module in its turn
    for key, value in pairs(functions.methods) do
        methods[key] = value
    end
    return {
        name = name, type = TYPES[name], methods = methods, is_class = true,
        tostring = function(userdata)
            return ("uv_%s_t: %p"):format(name, userdata)
        end,
        stop = hooks.stop or false, is_active = hooks.is_active or false,
        init = hooks.init or false, last_calls = hooks.last_calls or false,
    }
end

--- A maker of records for kinds of which there are many: it makes the table in its final size.
-- @tparam string fields those of the kind, as in a table constructor
-- @treturn function() a new record for `new`
function _M.record_maker(fields)
    return assert(loadstring([[return {
        __index = false, __tostring = false, class = false, userdata = false, place = 0,
        referenced = true, closing = false, closed = false, ]]
        .. fields .. "}", "=record_maker"))
end

--- The same for kinds that get C memory and one callback. These are 13 fields;
-- beyond 16 a table is twice as large.
-- @tparam string fields those of the kind
-- @treturn function() a new record for `new`
function _M.c_record_maker(fields)
    return _M.record_maker("ptr = false, id = 0, closed_in_c = false, close_callback = false,"
        .. "callback = false, " .. fields)
end

--- A new handle. Its record gets the fields that every record has; one with C memory has also
-- `id`, `ptr`, `closed_in_c` (libuv is done with it) and, seldom, `is_late`.
-- @tparam table class
-- @tparam table h its record: the fields that its class needs
-- @treturn userdata
function _M.new(class, h)
    h.__index, h.__tostring = class.methods, class.tostring
    local userdata = new_userdata(h)
    h.class, h.userdata = class, userdata
    h.referenced, h.closing, h.closed = true, false, false
    local n, number = n_live + 1, _M.number()
    n_live = n -- before the lists get longer: see moonlap.uv.timer_records
    live[n], h.place, numbers[n] = h, n, number
    if _M.traced then
        _M.made[userdata] = check.caller()
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

--- The record of a stream.
-- @param userdata
-- @tparam[opt=1] number position
-- @treturn table h; raises an error for anything else
function _M.check_stream(userdata, position)
    local h = type(userdata) == "userdata" and getmetatable(userdata)
    if type(h) ~= "table" or h.deliver == nil then -- nothing else has that field
        check.argument_error(position or 1, "Expected uv_stream userdata")
    end
    return h
end

local function take_id(h)
    local n, id = n_free, false
    if n > 0 then
        n_free = n - 1
        id = free_ids[n]
        free_ids[n] = false
    end
    if not id then
        id = newest + 1
        newest = id
    end
    by_id[id] = h
    h.id = id
    _M.in_c = _M.in_c + 1
    return id
end

local function give_id_back(h)
    local n, id = n_free + 1, h.id
    n_free = n
    by_id[id] = nil
    free_ids[n] = id
    h.id = 0
    _M.in_c = _M.in_c - 1
end

local function close_holes()
    local n = 0
    for i = 1, n_live do
        local h = live[i]
        if h then
            n = n + 1
            live[n], h.place, numbers[n] = h, n, numbers[i]
        end
    end
    for i = n + 1, n_live do
        live[i], numbers[i] = nil, nil
    end
    n_live, n_holes = n, 0
end

jit.off(close_holes)

local function forget(h)
    live[h.place] = false
    n_holes = n_holes + 1
    if n_holes > max(32, n_live / 2) then -- one branch, which is seldom taken
        close_holes()
    end
end

--- C memory for a handle; the caller initialises it at once. Raises an error when there is none.
-- @tparam table h
-- @tparam[opt=false] boolean is_new it is being made, of a kind that may also get its memory later
-- @treturn cdata void pointer
function _M.memory(h, is_new)
    local memory = C.uvshim_handle(q, h.class.type, take_id(h))
    if memory == nil then
        give_id_back(h)
        if is_new or not h.class.init then -- nobody will ever see it
            forget(h)
            h.userdata, h.closing, h.closed = false, true, true
        end
        check.misuse(require("moonlap.uv.shimless").reason or "not enough memory")
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

--- The end of a record: its memory is freed.
-- @treturn function|false the close callback
function _M.finish(h)
    forget(h)
    if h.ptr then
        C.uvshim_free(q, h.ptr)
        give_id_back(h)
        h.ptr = false
    end
    h.closed = true
    local callback = h.close_callback
    h.userdata = false
    if callback then
        h.close_callback = false
    end
    if h.callback then
        h.callback = false -- it may hold the userdata, which would then never be collected
    end
    return callback
end

--- The live handles, in the order of their creation.
-- @treturn {userdata,…}
-- @treturn number how many
function _M.list()
    local list, n, number_of = {}, 0, {}
    local function add(userdata, number)
        n = n + 1
        list[n], number_of[userdata] = userdata, number
    end
    for i = 1, n_live do
        if live[i] then
            add(live[i].userdata, numbers[i])
        end
    end
    timer_records.each(add)
    table.sort(list, function(a, b)
        return number_of[a] < number_of[b]
    end)
    return list, n
end

--- The pointer of a handle that is not closed; it is initialised now if it was not yet.
-- @treturn cdata uv_handle_t *
function _M.pointer(h)
    return h.ptr or h.class.init(h)
end

return _M

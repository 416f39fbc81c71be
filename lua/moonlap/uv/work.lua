--- Lua functions in libuv's thread pool. What happens for each piece of work is in
-- csrc/uvshim/work.c, but for what only Lua knows.
-- @module moonlap.uv.work

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local barrier = require "moonlap.uv.barrier"
local check = require "moonlap.uv.check"
local errors = require "moonlap.uv.errors"
local message = require "moonlap.uv.message"
local queue = require "moonlap.uv.queue"
local req = require "moonlap.uv.req"
local thread = require "moonlap.uv.thread"
local worker = require "moonlap.uv.worker"

local _M = {}

ffi.cdef "int uvshim_work_open(uvshim_queue *, const char *boot, size_t boot_size);"

local q = queue.q
local is_open = false

-- The code and the callback of a work context.
local records = setmetatable({}, { __mode = "k" })
local template = newproxy(true)

local queue_message -- of the callback and a message

-- The first piece of work, one with userdata among its arguments, and what is wrong.
local function queue_slowly(...)
    local context = ...
    local w = context ~= nil and records[context]
    if not w then
        check.type_error(1, "luv_work_ctx", ...)
    end
    local text, err = message.encode(1, w[1], select(2, ...))
    if not text then
        check.misuse(err)
    elseif not queue_message then
        local reason = require("moonlap.uv.shimless").reason
        if reason then
            check.misuse(reason)
        end
        return errors.fail(errors.api.errno.ENOSYS)
    elseif not is_open then
        local boot = worker.boot()
        local status = C.uvshim_work_open(q, boot, #boot)
        if status < 0 then
            check.misuse "not enough memory"
        end
        is_open = true
    end
    return queue_message(w[2], text)
end

jit.off(queue_slowly)

local function functions()
    local make = barrier.maker "uvshim_work_functions"
    if not make then
        return queue_slowly
    end
    local address = tonumber(ffi.cast("uintptr_t", q))
    local fast, ended
    fast, queue_message, ended = make(address, records, req, queue_slowly, message.decode)
    barrier.note(fast)
    queue.on[queue.KIND.work] = ended
    return fast
end

local api = {}
_M.api = api

--- Work for the thread pool. After an error, which goes to stderr, `after_work` is called without
-- arguments. Of results that cannot go to another state only those before come.
-- @tparam function|string work a function or its code; runs in a Lua state of the pool, as an
--   `entry` of `uv.new_thread` does
-- @tparam function after_work runs in the loop, with what `work` returned: values as for a thread,
--   and what `uv.fs_scandir` returns
-- @treturn userdata
function api.new_work(...)
    local code = thread.code(1, ...)
    local after, unused = select(2, ...)
    if type(after) ~= "function" then
        check.type_error(2, "function", ...)
    elseif unused ~= nil and type(unused) ~= "function" then
        check.type_error(3, "function", ...) -- luv looks at it, and does nothing with it
    end
    local userdata = newproxy(template)
    records[userdata] = { code, after }
    return userdata
end

--- Queues work once.
-- @function queue_work
-- @tparam userdata context
-- @param ... nil, booleans, numbers, strings, async handles, threads, semaphores
-- @treturn boolean true; or nil, message and name of the error
api.queue_work = functions()

local meta = getmetatable(template)
meta.__index = { queue = api.queue_work }
meta.__tostring = function(userdata)
    return ("luv_work_ctx_t: %p"):format(userdata)
end

return _M

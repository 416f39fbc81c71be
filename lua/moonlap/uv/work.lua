--- Lua functions in libuv's thread pool.
-- @module moonlap.uv.work

local ffi = require "ffi"
local C = require "moonlap.uv.ffi"
local barrier = require "moonlap.uv.barrier"
local check = require "moonlap.uv.check"
local message = require "moonlap.uv.message"
local queue = require "moonlap.uv.queue"
local req = require "moonlap.uv.req"
local thread = require "moonlap.uv.thread"
local worker = require "moonlap.uv.worker"

local _M = {}

ffi.cdef [[
int uvshim_work_queue(uvshim_queue *, uvshim_work *, const char *boot, size_t boot_size,
    const char *message, size_t size);
const char *uvshim_work_result(uvshim_work *, size_t *size);
]]

local q = queue.q
local boot = false -- for the pool's states
local size_box = ffi.new "size_t[1]"

-- The code and the callback of a work context.
local records = setmetatable({}, { __mode = "k" })
local template = newproxy(true)

-- Work that failed has no result; its error stands on stderr then, as with luv.
local function decode(r)
    local text = C.uvshim_work_result(r.ptr, size_box)
    if text ~= nil then
        return message.decode(ffi.string(text, size_box[0]))
    end
end

-- A leaf: `queue_work` is not compiled, and the interpreter calls C slowly.
local function start(ptr, text)
    return (C.uvshim_work_queue(q, ptr, boot, #boot, text, #text))
end

local api = {}
_M.api = api

--- Something for the thread pool to do, as often as it is queued. An error in it goes to stderr,
-- and `after_work` is called without arguments. Of results that cannot go to another state only
-- those before come.
-- @tparam function|string work a function or its code; it runs in a Lua state of the pool, without
--   upvalues, and the module `luv` is this library there
-- @tparam function after_work runs in the loop, with what `work` returned: nil, booleans, numbers,
--   strings, async handles and threads
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
    records[userdata] = { code = code, after = after }
    return userdata
end

--- Has work done once by the thread pool.
-- @function queue_work
-- @tparam userdata context
-- @param ... arguments: nil, booleans, numbers, strings, async handles and threads
-- @treturn boolean true; or nil, message and name of the error
local function queue_work(...)
    local context = ...
    local w = context ~= nil and records[context]
    if not w then
        check.type_error(1, "luv_work_ctx", ...)
    end
    local text, err = message.encode(2, "pool", w.code, select(2, ...))
    if not text then
        check.misuse(err)
    end
    boot = boot or worker.boot()
    local r, ptr = req.new("work", w.after, decode)
    r.anchor = text -- read by the other thread
    local status = start(ptr, text)
    if status < 0 then
        return req.abandon(r, status)
    end
    return true
end

jit.off(queue_work)
api.queue_work = barrier.of(queue_work)

local meta = getmetatable(template)
meta.__index = { queue = api.queue_work }
meta.__tostring = function(userdata)
    return ("luv_work_ctx_t: %p"):format(userdata)
end

return _M

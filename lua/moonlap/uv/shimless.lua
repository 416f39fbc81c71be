--- What stands in for the shim where it is missing: a loop of timers, idle, prepare and check, and
-- all that libuv does without calling back: files, names and everything else without a callback.
-- What has to hear from libuv (sockets, pipes, signals, processes, threads, requests with a
-- callback) raises an error that says so.
-- @module moonlap.uv.shimless

local ffi = require "ffi"

local _M = {}

--- Why there is no shim; nil where there is one.
_M.reason = nil

-- Longest sleep, ms: a signal handler of somebody else's may want to run.
local LONGEST = 1000

local function load_libuv()
    for _, name in ipairs { "libuv.so.1", "uv" } do
        local ok, lib = pcall(ffi.load, name)
        if ok then
            return lib
        end
    end
end

local function stand_ins(lib)
    ffi.cdef [[
    size_t uv_loop_size(void);
    int uv_loop_init(uv_loop_t *);
    int uv_loop_close(uv_loop_t *);
    void uv_update_time(uv_loop_t *);
    uint64_t uv_now(const uv_loop_t *);
    void uv_sleep(unsigned int);
    ]]
    local memory -- of the queue and the loop
    local self = {}

    function self.uvshim_open(_, status)
        local loop = ffi.new("uint64_t[?]", math.ceil(tonumber(lib.uv_loop_size()) / 8))
        memory = { queue = ffi.new "uvshim_queue", loop = loop }
        memory.queue.loop = ffi.cast("uv_loop_t *", loop)
        status[0] = lib.uv_loop_init(memory.queue.loop)
        if status[0] ~= 0 then
            return nil
        end
        self.uvshim_update_time(memory.queue)
        return ffi.cast("uvshim_queue *", memory.queue)
    end

    function self.uvshim_close(queue)
        lib.uv_loop_close(queue.loop)
    end

    function self.uvshim_update_time(queue)
        lib.uv_update_time(queue.loop)
        queue.now = tonumber(lib.uv_now(queue.loop))
        return queue.now
    end

    -- Nothing of libuv's can happen here.
    function self.uvshim_look()
        return 1
    end

    self.uvshim_glance = self.uvshim_look

    -- -1 and -2 are uvshim.h's.
    function self.uvshim_poll(queue, timeout)
        if timeout == -1 or timeout > 0 then
            lib.uv_sleep(timeout == -1 and LONGEST or math.min(timeout, LONGEST))
        end
        self.uvshim_update_time(queue)
    end

    -- Nothing is in a hurry here: the way by uvshim_poll does as well.
    function self.uvshim_turn()
        return 0
    end

    self.uvshim_pass = self.uvshim_turn
    self.uvshim_wait, self.uvshim_take = self.uvshim_turn, self.uvshim_turn

    function self.uvshim_configured() end

    function self.uvshim_path() end

    function self.uvshim_stat()
        return -1
    end

    function self.uvshim_handle() end -- no memory, so an error with the reason

    self.uvshim_req = self.uvshim_handle
    self.uvshim_udp_send = self.uvshim_stat

    return self
end

--- A library without the shim.
-- @tparam string reason why there is none
-- @treturn table|nil what `moonlap.uv.ffi` returns; nil where there is no libuv either
function _M.library(reason)
    local lib = load_libuv()
    if not lib then
        return nil
    end
    _M.reason = reason
    return setmetatable(stand_ins(lib), { __index = function(self, name)
        if name:find "^uvshim_on_" then
            return nil -- libuv calls nobody back
        elseif name:find "^uvshim_" then
            error(reason, 0)
        end
        local value = lib[name]
        rawset(self, name, value)
        return value
    end })
end

local api = {}
_M.api = api

--- Why the shim is missing, so that only a part of this library works.
-- @treturn string|nil nil when it is there
function api.shim_missing()
    return _M.reason
end

return _M

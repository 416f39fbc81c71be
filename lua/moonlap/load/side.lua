--- One side of a run in one thread: where to, what is sent, its connections.
-- @module moonlap.load.side
local counters = require "moonlap.load.counters"
local connection = require "moonlap.load.connection"
local pace = require "moonlap.load.pace"
local response = require "moonlap.load.response"
local socket = require "moonlap.load.socket"

local _M = {}


-- How many of `total` are this thread's.
local function part_of(total, threads, thread)
    return math.floor(total / threads) + (thread < total % threads and 1 or 0)
end


--- The host of a URL, without brackets and port.
function _M.host(url)
    local authority = url:match "^%a[%w+.-]*://([^/?#]*)" or url
    authority = authority:gsub("^.*@", "")
    return authority:match "^%[(.-)%]" or authority:match "^([^:]*)"
end


--- Addresses to connect to.
-- @treturn table a list; or nil and why not
function _M.addresses(spec)
    if spec.unix then
        local address, err = socket.unix(spec.unix)
        return address and { address }, err
    end
    local list = {}
    for i, text in ipairs(spec.addresses or {}) do
        local address, err = socket.address(text)
        if not address then
            return nil, err
        end
        list[i] = address
    end
    if not list[1] then
        return nil, "no address to connect to"
    end
    return list
end


local function new_pace(self, job, index)
    if not job.rate and not job.stages then
        return nil
    end
    return pace.new {
        rate = job.rate, stages = job.stages, poisson = job.arrivals == "poisson",
            share = 1 / job.threads,
        offset = (self.thread + (job.part or 0)) / job.threads,
        seed = (job.seed or 1) * 1000 + (self.thread + (job.part or 0)) * 10 + index,
    }
end


--- A side with its connections, none of them open yet.
-- @tparam table self the thread
-- @tparam int index of the side
-- @treturn table the side; or nil and why not
function _M.new(self, index)
    local job = self.job
    local spec = job.sides[index + 1]
    local addresses, err = _M.addresses(spec)
    if not addresses then
        return nil, err
    end
    local secure = false
    if spec.url:find "^https:" or spec.url:find "^wss:" then
        local tls = require "moonlap.load.tls"
        secure, err = tls.new(spec.tls or job.tls or {}, _M.host(spec.url), job.protocol == "h2"
            and "\2h2" or "\8http/1.1")
        if not secure then
            return nil, err
        end
    end
    local head, keep = response.new()
    local side = {
        index = index, spec = spec, addresses = addresses, pids = spec.pids,
        head = head, keep = keep, counters = counters.new(),
        pace = new_pace(self, job, index), offered = new_pace(self, job, index),
        connections = part_of(job.connections, job.threads, self.thread),
        quota = job.requests and part_of(job.requests, job.threads, self.thread) or nil,
        batch = job.pipeline or 1, text = nil, request = nil, respond = nil, delay = nil,
        wants_body = false, is_head = false, asks_upgrade = false, streams = 0, take = nil,
            hello = nil, is_ready = nil,
            tls = secure,
            on_open = nil, on_failure = nil,
        sending = false, flying = 0, open = 0, elapsed = 0, until_ns = -math.huge,
        free = {}, free_first = 0, free_last = -1, first_conn = self.last_conn + 1,
    }
    side.size = side.connections + 1
    --- Begins the schedule again: a warm-up uses none of it.
    function side.renew()
        side.pace, side.offered = new_pace(self, job, index), new_pace(self, job, index)
        side.elapsed = 0
    end
    for _ = 1, side.connections do
        self.last_conn = self.last_conn + 1
        self.conns[self.last_conn] = connection.new(side, self.last_conn)
    end
    return side
end


return _M

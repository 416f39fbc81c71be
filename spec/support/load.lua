--- Runs of the load engine for specs: its job, its lines, and servers that misbehave.
-- @module spec.support.load
local cjson = require "cjson"
local ffi = require "ffi"
local child = require "spec.support.child"
local kernel = require "moonlap.load.kernel"
local value = require "moonlap.load.value"
require "spec.support.nginx" -- declares socket, read, write

local _M = {}

local C = ffi.C
local AF_UNIX, SOCK_STREAM = 1, 1

ffi.cdef [[
int bind(int, const struct spec_sockaddr_un *, unsigned int);
int listen(int, int);
int accept(int, void *, void *);
void _exit(int);
]]

local Run = {}
Run.__index = Run


--- The lines of a type.
function Run:all(type)
    local found = {}
    for _, line in ipairs(self.lines) do
        if line.type == type then
            found[#found + 1] = line
        end
    end
    return found
end


--- A field of all measured slices of a side, added up.
function Run:sum(field, side)
    local sum = 0
    for _, line in ipairs(self:all "load_slice") do
        if not line.warmup and (not side or line.side == side) then
            sum = sum + (line[field] or 0)
        end
    end
    return sum
end


--- The errors of all slices, by kind.
function Run:errors()
    local errors = {}
    for _, line in ipairs(self:all "load_slice") do
        for kind, count in pairs(line.errors or {}) do
            errors[kind] = (errors[kind] or 0) + count
        end
    end
    return errors
end


--- The texts of the errors of a kind.
function Run:texts(kind)
    local list = {}
    for _, line in ipairs(self:all "load_error") do
        if line.kind == kind then
            list[#list + 1] = line.text
        end
    end
    return table.concat(list, "; ")
end


--- Runs a job.
-- @tparam table job
-- @tparam[opt] string script text of the side's script
-- @tparam[opt] table options for the child: `prefix`, `args`
-- @treturn table `status`, `stdout`, `stderr`, `lines`
function _M.run(job, script, options)
    return child.with_folder(function(folder)
        if script then
            child.write(folder .. "/script.lua", script)
            for _, side in ipairs(job.sides) do
                side.script = "script.lua"
            end
        end
        local args = options and options.args or {}
        args[#args + 1] = "-e"
        args[#args + 1] = 'require("moonlap.load").main()'
        local done = child.start(folder, {
            args = args, prefix = options and options.prefix or "timeout 60",
            env = { MOONLAP_JOB = "return " .. assert(value.encode(job)) },
        })
        done.lines = {}
        for line in done.channel:gmatch "([^\n]*)\n" do
            done.lines[#done.lines + 1] = cjson.decode(line)
        end
        return setmetatable(done, Run)
    end)
end


local OF_SIDE = { url = true, method = true, body = true, body_file = true, headers = true,
    args = true }


--- A job for one side at a unix socket.
-- @tparam string path of the socket
-- @tparam[opt] table more fields of the job; `url`, `method`, `body`, `headers`, `args` are the
-- side's
function _M.job(path, more)
    local job = {
        kind = "load", threads = 1, connections = 2, duration_ns = 2e8, slice_ns = 1e8,
            timeout_ns = 2e9,
        sides = { { name = "A", url = "http://localhost/", unix = path } },
    }
    for k, v in pairs(more or {}) do
        if OF_SIDE[k] then
            job.sides[1][k] = v
        else
            job[k] = v
        end
    end
    return job
end


-- A connection as the server's function sees it.
local Peer = {}
Peer.__index = Peer


--- Reads more into `text`; false at the end.
function Peer:fill()
    local buffer = ffi.new "char[65536]"
    local n = tonumber(C.read(self.fd, buffer, 65536))
    if n <= 0 then
        return false
    end
    self.text = self.text .. ffi.string(buffer, n)
    return true
end


--- The next request, up to its empty line; nil at the end.
function Peer:receive()
    while not self.text:find("\r\n\r\n", 1, true) do
        if not self:fill() then
            return nil
        end
    end
    local _, stop = self.text:find("\r\n\r\n", 1, true)
    local request = self.text:sub(1, stop)
    self.text = self.text:sub(stop + 1)
    return request
end


--- Sends a text, all of it; false when nobody reads any more.
function Peer:send(text)
    local sent = 0
    while sent < #text do
        local n = kernel.send(self.fd, ffi.cast("const char *", text) + sent, #text - sent)
        if n <= 0 then
            return false
        end
        sent = sent + n
    end
    return true
end


--- Starts a server at a unix socket, calls body(path), and ends the server.
-- @tparam function(peer,number) serve handles one connection, in a process of its own for each; the
-- number counts connections from 1
-- @tparam function(path) body
function _M.with_server(serve, body)
    return child.with_folder(function(folder)
        local path = folder .. "/socket"
        local fd = C.socket(AF_UNIX, SOCK_STREAM, 0)
        local address = ffi.new("struct spec_sockaddr_un", { family = AF_UNIX, path = path })
        assert(C.bind(fd, address, ffi.sizeof(address)) == 0 and C.listen(fd, 100) == 0)
        io.stdout:flush()
        local pid = kernel.fork()
        if pid == 0 then
            kernel.die_with_parent()
            kernel.ignore_signals()
            kernel.leave_children()
            local count = 0
            while true do
                local peer = C.accept(fd, nil, nil)
                count = count + 1
                if kernel.fork() == 0 then
                    kernel.die_with_parent()
                    pcall(serve, setmetatable({ fd = peer, text = "" }, Peer), count)
                    C._exit(0)
                end
                C.close(peer)
            end
        end
        C.close(fd)
        local ok, err = pcall(body, path)
        kernel.kill(pid)
        if not ok then
            error(err, 0)
        end
    end)
end


return _M

--- The channel: the record's lines, from the VM to moonlap.
--
-- A pipe on a descriptor that moonlap opened: number 3, or 3 + n in the n-th nginx
-- worker. It is moved out of the user's way, closed for child processes, and written
-- with `write(2)`, so that no print, closed stdout or `os.execute` can corrupt it.
-- @module moonlap.bench.channel
local ffi = require "ffi"
local json = require "moonlap.json"

jit.off(true, true)

local _M = {}
local mt = {__index = _M}

local C = ffi.C
local EINTR, EAGAIN = 4, 11
local FIRST = 3
local HIGH = 100 -- user code that counts descriptors from 3 on must not meet it
local F_DUPFD_CLOEXEC = 1030

ffi.cdef [[
int moonlap_fcntl(int fd, int command, ...) __asm__("fcntl");
int moonlap_close(int fd) __asm__("close");
long moonlap_write(int fd, const char *data, size_t size) __asm__("write");
int moonlap_usleep(unsigned int usec) __asm__("usleep");
]]


--- Takes over the channel of this worker.
-- @tparam[opt=0] int worker number of the nginx worker
-- @tparam table fixed fields that every line carries: process, worker
-- @treturn table the channel
-- @treturn[2] nil
-- @treturn[2] string why not: not started by moonlap
function _M.open(worker, fixed)
    local fd = FIRST + (worker or 0)
    local high = C.moonlap_fcntl(fd, F_DUPFD_CLOEXEC, ffi.cast("int", HIGH))
    if high < 0 then
        return nil, "descriptor " .. fd .. " is not open: this is started by moonlap only"
    end
    C.moonlap_close(fd)
    return setmetatable({fd = high, fixed = fixed}, mt)
end


--- Writes one line. Adds the fixed fields to the table.
-- @tparam table line with its `type`
function _M:write(line)
    for k, v in pairs(self.fixed) do
        if line[k] == nil then
            line[k] = v
        end
    end
    self:write_text(json.encode(line) .. "\n")
end


--- Writes a line that is JSON already.
-- @tparam string text with its newline
function _M:write_text(text)
    local data, left = ffi.cast("const char *", text), #text
    while left > 0 do
        local n = tonumber(C.moonlap_write(self.fd, data, left))
        if n > 0 then
            data, left = data + n, left - n
        elseif ffi.errno() == EAGAIN then
            C.moonlap_usleep(100)
        elseif ffi.errno() ~= EINTR then
            return -- nobody reads any more: moonlap is gone, and so shall we be
        end
    end
end


return _M

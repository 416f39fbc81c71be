--- Messages between the coordinator and its threads, which are processes of their own.
-- @module moonlap.load.pipe
local ffi = require "ffi"
local value = require "moonlap.load.value"

local _M = {}
local mt = { __index = _M }

local C = ffi.C

ffi.cdef [[
int moonlap_load_socketpair(int, int, int, int *) __asm__("socketpair");
long moonlap_load_read_some(int, void *, size_t) __asm__("read");
long moonlap_load_send_some(int, const void *, size_t, int) __asm__("send");
int moonlap_load_end(int) __asm__("close");
]]

local AF_UNIX, SOCK_STREAM, SOCK_CLOEXEC, MSG_NOSIGNAL = 1, 1, 0x80000, 0x4000
local EINTR, EAGAIN = 4, 11
local SIZE = 65536


--- Both ends of a new pipe.
function _M.pair()
    local fds = ffi.new "int[2]"
    if C.moonlap_load_socketpair(AF_UNIX, SOCK_STREAM + SOCK_CLOEXEC, 0, fds) ~= 0 then
        return nil, "no descriptors left"
    end
    local function make(fd)
        return setmetatable({ fd = fd, text = "", buffer = ffi.new("uint8_t[?]", SIZE) }, mt)
    end
    return make(fds[0]), make(fds[1])
end


function _M:close()
    C.moonlap_load_end(self.fd)
end


--- Sends a message: a table of plain values. False when nobody is there.
-- @treturn boolean
-- @treturn string why not
function _M:send(message)
    local text, err = value.encode(message, "message")
    if not text then
        return false, err
    end
    return self:send_text(text)
end


--- Sends a text that another pipe's `receive_text` gives back.
function _M:send_text(text)
    text = ("%d\n"):format(#text) .. text
    local data, left = ffi.cast("const uint8_t *", text), #text
    while left > 0 do
        local n = tonumber(C.moonlap_load_send_some(self.fd, data, left, MSG_NOSIGNAL))
        if n > 0 then
            data, left = data + n, left - n
        elseif ffi.errno() ~= EINTR and ffi.errno() ~= EAGAIN then
            return false, "the other process is gone"
        end
    end
    return true
end


-- A message that is there already, or nil.
function _M:take()
    local size, at = self.text:match "^(%d+)\n()"
    if not size or #self.text < at + size - 1 then
        return nil
    end
    local text = self.text:sub(at, at + size - 1)
    self.text = self.text:sub(at + size)
    return text
end


--- Reads what is there, waiting for the first byte. False when the other end is closed.
function _M:fill()
    while true do
        local n = tonumber(C.moonlap_load_read_some(self.fd, self.buffer, SIZE))
        if n > 0 then
            self.text = self.text .. ffi.string(self.buffer, n)
            return true
        elseif n == 0 or ffi.errno() ~= EINTR then
            return false
        end
    end
end


--- Waits for a message; nil when the other end is closed.
function _M:receive()
    while true do
        local text = self:take()
        if text then
            return value.decode(text)
        elseif not self:fill() then
            return nil
        end
    end
end


return _M

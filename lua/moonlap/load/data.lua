--- Lines of a file that all threads share: the file is mapped, so its bytes are in memory once.
-- @module moonlap.load.data
local ffi = require "ffi"
require "moonlap.load.kernel"

local _M = {}

local C = ffi.C

ffi.cdef [[
int moonlap_load_open(const char *, int, ...) __asm__("open");
int64_t moonlap_load_lseek(int, int64_t, int) __asm__("lseek");
int moonlap_load_shut_file(int) __asm__("close");
void *moonlap_load_find(const void *, int, size_t) __asm__("memchr");
]]

local PROT_READ, MAP_SHARED, SEEK_END = 1, 1, 2

local mt = {}

-- lines[i]: the i-th line, nil beyond the last.
function mt.__index(lines, i)
    if type(i) ~= "number" or i < 1 or i > lines.count then
        return nil
    end
    local starts = lines.starts
    local first, stop = starts[i - 1], starts[i] - 1
    if stop > first and lines.bytes[stop - 1] == 13 then
        stop = stop - 1
    end
    return ffi.string(lines.bytes + first, stop - first)
end


--- The lines of a file.
-- @tparam string path
-- @treturn table `count`, and `lines[1]` to `lines[count]`; or nil and why not
function _M.lines(path)
    local fd = C.moonlap_load_open(path, 0x80000)
    if fd < 0 then
        return nil, path .. ": " .. ffi.string(C.strerror(ffi.errno()))
    end
    local size = tonumber(C.moonlap_load_lseek(fd, 0, SEEK_END))
    local memory = size > 0 and C.moonlap_load_mmap(nil, size, PROT_READ, MAP_SHARED, fd, 0)
    C.moonlap_load_shut_file(fd)
    if memory and ffi.cast("intptr_t", memory) == -1 then
        return nil, path .. ": cannot be mapped"
    end
    local bytes = ffi.cast("const uint8_t *", memory or nil)

    local capacity, count, at = 1024, 0, 0
    local starts = ffi.new("double[?]", capacity + 1)
    while at < size do
        if count == capacity then
            local larger = ffi.new("double[?]", capacity * 2 + 1)
            ffi.copy(larger, starts, (capacity + 1) * 8)
            starts, capacity = larger, capacity * 2
        end
        local found = C.moonlap_load_find(bytes + at, 10, size - at)
        -- A last line without an end is one, too: as if its end stood behind the file.
        at = found ~= nil and tonumber(ffi.cast("const uint8_t *", found) - bytes) + 1 or size + 1
        count = count + 1
        starts[count] = at
    end
    return setmetatable({ count = count, starts = starts, bytes = bytes }, mt)
end


return _M

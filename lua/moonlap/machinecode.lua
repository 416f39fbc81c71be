--- Pages of machine code, for the few things that must not hang on what the JIT compiles.
-- @module moonlap.machinecode
local ffi = require "ffi"
local bit = require "bit"

local _M = {}

local C = ffi.C

pcall(ffi.cdef, [[
void *mmap(void *addr, size_t length, int prot, int flags, int fd, long offset);
int mprotect(void *addr, size_t length, int prot);
int munmap(void *addr, size_t length);
]])

local PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
local MAP_PRIVATE, MAP_ANONYMOUS = 2, 0x20
local PAGE = 4096


--- Maps a page that can be run and no longer written. It is never given back.
-- @tparam string code at most 4096 bytes
-- @treturn cdata a `uint8_t *`
-- @treturn[2] nil
-- @treturn[2] string why not
function _M.map(code)
    local page = C.mmap(nil, PAGE, bit.bor(PROT_READ, PROT_WRITE),
        bit.bor(MAP_PRIVATE, MAP_ANONYMOUS), -1, 0)
    if ffi.cast("intptr_t", page) == -1 then
        return nil, "no memory for machine code"
    end
    ffi.copy(page, code, #code)
    if C.mprotect(page, PAGE, bit.bor(PROT_READ, PROT_EXEC)) ~= 0 then
        C.munmap(page, PAGE)
        return nil, "this system forbids mapping machine code"
    end
    return ffi.cast("uint8_t *", page)
end


return _M

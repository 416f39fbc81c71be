-- More of what stops the event loop, for disk_test.go; its lines are named there.
local path, ffi, file, size = ngx.var.uri, require("ffi"), ngx.var.arg_file, 1e6
local C, last = ffi.C, {}
local function declare(text) pcall(ffi.cdef, text) end -- at each request, in one machine
declare("int open(const char *, int, ...); int close(int);")
declare("int fsync(int); long write(int, const void *, unsigned long); int posix_fadvise(int, long, long, int);")
declare("void *mmap(void *, unsigned long, int, int, int, long); int munmap(void *, unsigned long);")
declare("int pthread_create(unsigned long *, void *, void *, void *); int pthread_join(unsigned long, void *);")
declare("int pthread_mutex_lock(void *); int pthread_mutex_timedlock(void *, const long *); int clock_gettime(int, long *);")
local function dropped() -- a descriptor of the file, whose pages are not in memory
    local descriptor = C.open(file, 2)
    assert(C.posix_fadvise(descriptor, 0, 0, 4) == 0)
    return descriptor
end
if path == "/blocks/luasocket" then
    local tcp = require("socket").tcp()
    assert(tcp:connect("127.0.0.1", ngx.var.arg_port))
    ngx.say(tcp:receive("*l"))
    tcp:close()
end
if path == "/blocks/fsync" then
    local descriptor = C.open(file, 2)
    C.write(descriptor, ffi.new("char[?]", size), size)
    C.fsync(descriptor)
    C.close(descriptor)
end
local function touch(pages)
    for i = 0, size - 1, 4096 do last[0] = pages[i] end
end
jit.off(touch)
if path == "/blocks/fault" then
    local descriptor = dropped()
    local pages = ffi.cast("char *", C.mmap(nil, size, 1, 1, descriptor, 0))
    touch(pages)
    C.munmap(pages, size)
    C.close(descriptor)
end
if path == "/blocks/disk" then
    local descriptor = dropped()
    local read = io.open(file)
    ngx.say(#read:read("*a"))
    read:close()
    C.close(descriptor)
end
if path == "/blocks/futex" then -- another thread has locked the mutex, and will not unlock it
    local mutex, thread, until_then = ffi.new("char[64]"), ffi.new("unsigned long[1]"), ffi.new("long[2]")
    local lock = ffi.cast("void *", C.pthread_mutex_lock)
    assert(C.pthread_create(thread, nil, lock, mutex) == 0 and C.pthread_join(thread[0], nil) == 0)
    C.clock_gettime(0, until_then)
    until_then[0], until_then[1] = until_then[0] + (until_then[1] + 2e7) / 1e9, (until_then[1] + 2e7) % 1e9
    C.pthread_mutex_timedlock(mutex, until_then)
end
if path == "/blocks/timer" then
    local ended = false
    assert(ngx.timer.at(0.02, function() ended = true end))
    repeat ngx.sleep(0.005) until ended
end

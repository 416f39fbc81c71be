--- libuv and the shim, as LuaJIT's FFI sees them: `require "moonlap.uv.ffi"` is the library with
-- `uv_*` and `uvshim_*`; the shim is linked to libuv, so that one handle finds both.
--
-- Here stand the types and what more than one module calls; each module declares the functions
-- that it alone needs (LuaJIT accepts a function declared twice, but not a struct).
-- @module moonlap.uv.ffi

local ffi = require "ffi"

-- A second copy of this module in one Lua state finds the types declared already.
if not pcall(ffi.typeof, "uvshim_queue") then
    ffi.cdef [[
    typedef struct uv_loop_s uv_loop_t;
    typedef struct uv_handle_s uv_handle_t;
    typedef struct uv_stream_s uv_stream_t;
    typedef struct uv_tcp_s uv_tcp_t;
    typedef struct uv_pipe_s uv_pipe_t;
    typedef struct uv_tty_s uv_tty_t;
    typedef struct uv_udp_s uv_udp_t;
    typedef struct uv_poll_s uv_poll_t;
    typedef struct uv_timer_s uv_timer_t;
    typedef struct uv_async_s uv_async_t;
    typedef struct uv_signal_s uv_signal_t;
    typedef struct uv_process_s uv_process_t;
    typedef struct uv_fs_event_s uv_fs_event_t;
    typedef struct uv_fs_poll_s uv_fs_poll_t;
    typedef struct uv_req_s uv_req_t;
    typedef struct uv_write_s uv_write_t;
    typedef struct uv_connect_s uv_connect_t;
    typedef struct uv_shutdown_s uv_shutdown_t;
    typedef struct uv_udp_send_s uv_udp_send_t;
    typedef struct uv_fs_s uv_fs_t;
    typedef struct uv_getaddrinfo_s uv_getaddrinfo_t;
    typedef struct uv_getnameinfo_s uv_getnameinfo_t;
    typedef struct uv_random_s uv_random_t;
    typedef struct { const char *base; size_t len; } uv_buf_t;
    struct sockaddr;
    struct addrinfo;

    typedef void (*uv_alloc_cb)(uv_handle_t *, size_t, uv_buf_t *);
    typedef void (*uv_close_cb)(uv_handle_t *);
    typedef void (*uv_read_cb)(uv_stream_t *, ssize_t, const uv_buf_t *);
    typedef void (*uv_connection_cb)(uv_stream_t *, int);
    typedef void (*uv_write_cb)(uv_write_t *, int);
    typedef void (*uv_connect_cb)(uv_connect_t *, int);
    typedef void (*uv_shutdown_cb)(uv_shutdown_t *, int);
    typedef void (*uv_udp_send_cb)(uv_udp_send_t *, int);
    typedef void (*uv_udp_recv_cb)(uv_udp_t *, ssize_t, const uv_buf_t *, const struct sockaddr *,
        unsigned int);
    typedef void (*uv_fs_cb)(uv_fs_t *);
    typedef void (*uv_getaddrinfo_cb)(uv_getaddrinfo_t *, int, struct addrinfo *);
    typedef void (*uv_getnameinfo_cb)(uv_getnameinfo_t *, int, const char *, const char *);
    typedef void (*uv_random_cb)(uv_random_t *, int, void *, size_t);
    typedef void (*uv_poll_cb)(uv_poll_t *, int, int);
    typedef void (*uv_signal_cb)(uv_signal_t *, int);
    typedef void (*uv_async_cb)(uv_async_t *);
    typedef void (*uv_exit_cb)(uv_process_t *, int64_t, int);
    typedef void (*uv_fs_event_cb)(uv_fs_event_t *, const char *, int, int);
    typedef void (*uv_fs_poll_cb)(uv_fs_poll_t *, int, const void *, const void *);

    unsigned int uv_version(void);
    void uv_close(uv_handle_t *, uv_close_cb);
    int uv_cancel(uv_req_t *);

    typedef struct {
        int32_t kind, id;
        int32_t result;
        uint32_t extra;
        void *data;
    } uvshim_event;
    typedef struct {
        int32_t count, capacity;
        uvshim_event *at;
        int32_t done;
    } uvshim_vector;
    typedef struct {
        uvshim_vector events, closing;
        double now;
        int32_t lost, more, quiet, sent;
        uv_loop_t *loop;
    } uvshim_queue;
    typedef struct { char address[32]; const char *base; void *unused; } uvshim_datagram;
    uint32_t uvshim_abi(void);
    uvshim_queue *uvshim_open(uint32_t slab_size, int *status);
    void uvshim_close(uvshim_queue *);
    void *uvshim_handle(uvshim_queue *, int type, uint32_t id);
    void *uvshim_req(uvshim_queue *, int type, uint32_t id);
    void uvshim_free(uvshim_queue *, void *);
    void uvshim_set_id(void *, uint32_t id);
    int uvshim_look(uvshim_queue *);
    int uvshim_glance(uvshim_queue *);
    void uvshim_poll(uvshim_queue *, double timeout);
    int uvshim_turn(uvshim_queue *, int32_t refs, int32_t others, double due);
    int uvshim_wait(uvshim_queue *);
    void uvshim_take(uvshim_queue *, int n);
    void uvshim_configured(uvshim_queue *);
    int uvshim_pass(uvshim_queue *, int32_t others, int32_t idles, double due);
    double uvshim_update_time(uvshim_queue *);
    void uvshim_claimed(uv_stream_t *);
    int uvshim_try_write(uv_stream_t *, const uv_buf_t *, unsigned int);
    int uvshim_try_shutdown(uv_stream_t *);
    void uvshim_set_mmsgs(uv_udp_t *, uint32_t);
    int uvshim_udp_send(uv_udp_t *, const uv_buf_t *, unsigned int, const struct sockaddr *);
    int uvshim_udp_connect(uv_udp_t *, const struct sockaddr *);
    const char *uvshim_path(void);
    typedef struct {
        double dev, mode, nlink, uid, gid, rdev, ino, size, blksize, blocks;
        struct { double sec, nsec; } atime, mtime, ctime, birthtime;
    } uvshim_file;
    typedef struct { uint64_t words[32]; } uvshim_statx;
    int uvshim_stat(int fd, const char *path, int flags, uvshim_statx *);
    void uvshim_read_stat(const uvshim_statx *, uvshim_file *);
    ]]
end

local ABI = 17
local NAME = "libmoonlap_uvshim.so"

-- Where the shim may lie: named outright; beside these files, as it is shipped; in bin/ of the
-- checkout that these files belong to, where `make build` puts it; where the system looks.
local named = os.getenv "MOONLAP_UVSHIM"

local function candidates()
    if named then
        return named ~= "none" and { named } or {}
    end
    local here = debug.getinfo(1, "S").source:match "^@(.*/)[^/]*$" or "./"
    return {
        here .. NAME,
        here .. "../../../bin/" .. NAME,
        NAME,
    }
end

local function load_shim()
    local tried = {}
    for _, path in ipairs(candidates()) do
        local ok, lib = pcall(ffi.load, path)
        if ok then
            local abi = lib.uvshim_abi()
            if abi == ABI then
                return lib
            end
            error(("%s is made for another moonlap (%d, not %d): run `make build`"):format(
                path, abi, ABI), 0)
        else
            tried[#tried + 1] = tostring(lib)
        end
    end
    if #tried == 0 then
        tried[1] = "MOONLAP_UVSHIM says none"
    end
    local reason = "moonlap.uv cannot load its C library:\n  " .. table.concat(tried, "\n  ")
        .. "\nbuild it with `make build`, which needs gcc and libuv1-dev, and name it in"
        .. " MOONLAP_UVSHIM when it is not beside moonlap/uv/ffi.lua"
    if named and named ~= "none" then
        error(reason, 0)
    end
    return require("moonlap.uv.shimless").library(reason) or error(reason, 0)
end

return load_shim()

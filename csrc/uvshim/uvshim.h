/*
 * libuv's callbacks as records: each callback appends one record to a linear vector, which Lua
 * reads through the FFI after uv_run has returned. So no C code ever calls into Lua while the loop
 * runs, no FFI callback exists, and the dispatching loop can be compiled.
 *
 * Nothing is global: a queue belongs to one loop (loop->data) and that to one Lua state.
 *
 * Lua's cdef (lua/moonlap/uv/ffi.lua) repeats the declarations below; UVSHIM_ABI is raised
 * whenever one of them changes, and Lua refuses a library with another number.
 */
#ifndef MOONLAP_UVSHIM_H
#define MOONLAP_UVSHIM_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define UVSHIM_ABI 17

/* What a record tells; `result` and `extra` by kind. */
enum {
    UVSHIM_REQ = 1,    /* a request ended: status; data is the request */
    UVSHIM_READ,       /* stream: bytes or error; data are the bytes, in the slab */
    UVSHIM_CONNECTION, /* server: status; data is the accepted handle, NULL: still to accept */
    UVSHIM_CLOSED,     /* data, a handle, is closed and may be freed */
    UVSHIM_POLL,       /* poll: status; extra are the events */
    UVSHIM_SIGNAL,     /* signal: its number */
    UVSHIM_ASYNC,      /* async was sent to, once or more often */
    UVSHIM_FS_EVENT,   /* fs_event: status; extra are the events; data the name or NULL */
    UVSHIM_FS_POLL,    /* fs_poll: status; data are two uv_stat_t: before and after */
    UVSHIM_RECV,       /* udp: bytes or error; extra the flags; data: a datagram, NULL: error */
    UVSHIM_EXIT,       /* process: exit status; extra is the signal */
    UVSHIM_WORK,       /* work has ended */
    UVSHIM_RECV_NONE   /* udp: no further datagram for now; extra the flags */
};

/* 32-bit fields on purpose: LuaJIT reads them as plain numbers, interpreted or compiled. With a sign
 * they are integers to it, which take half the code of others. */
typedef struct {
    int32_t kind, id;
    int32_t result;
    uint32_t extra;
    void *data;
} uvshim_event;

typedef struct {
    int32_t count, capacity;
    uvshim_event *at;
    int32_t done; /* how many Lua has dispatched */
} uvshim_vector;

typedef struct uvshim_mailbox uvshim_mailbox;
typedef struct uvshim_states uvshim_states;
typedef struct uvshim_thread uvshim_thread;
typedef struct uvshim_work uvshim_work;

typedef struct uvshim_queue {
    uvshim_vector events;  /* in the order in which libuv called back */
    uvshim_vector closing; /* the same for its closing phase */
    double now;            /* uv_now(), ms */
    int32_t lost;          /* records for which there was no memory */
    int32_t more;          /* the last poll has left something to read */
    int32_t quiet;         /* the last poll brought nothing, and nothing was begun since */
    int32_t sent;          /* asyncs that this thread has sent to since the last poll */
    uv_loop_t *loop;
    /* Lua reads no further. */
    char *slab; /* what was read since the last drain */
    uint32_t slab_used, slab_size;
    uv_timer_t *alarm;
    uv_check_t *turn_end;
    uv_run_mode mode;             /* of a uv_run that may wait */
    struct uvshim_block *blocks; /* every handle and request that is not freed */
    struct uvshim_block *ended; /* children that have ended in this poll */
    struct uvshim_block *sent_to, **sent_end; /* asyncs that were sent to, in that order */
    struct uvshim_spill *spilled; /* copies for which the slab had no room */
    uvshim_states *states; /* Lua states for the thread pool, NULL until there is work */
    struct uvshim_works *works; /* NULL until then, too */
    uint32_t drains;              /* how often the slab was emptied */
    int finishing;
    uint64_t glanced;             /* the processor's clock when the kernel was last asked by uvshim_glance */
    uint64_t looked[2];           /* where uvshim_look lets the kernel write an event */
    struct uvshim_ready *ready;   /* the same for uvshim_wait; NULL: libuv has to poll */
    int timeout;                  /* for uvshim_wait, ms */
    struct uvshim_letter *letter; /* what uvshim_udp_send hands to the kernel */
} uvshim_queue;

/* The sender (sockaddr_in or sockaddr_in6) and the bytes of a datagram. */
typedef struct {
    char address[32];
    char *base;
    void *unused;
} uvshim_datagram;

uint32_t uvshim_abi(void);
/* A new loop with its queue, or NULL with *status set to libuv's error. */
uvshim_queue *uvshim_open(uint32_t slab_size, int *status);
/* Closes all handles, waits for all requests, throws their records away and frees everything. */
void uvshim_close(uvshim_queue *queue);

/* Zeroed memory for a handle or request of libuv's type, whose `data` is id; NULL: no memory.
 * It has to be given back with uvshim_free: a handle after CLOSED or a failed init. */
void *uvshim_handle(uvshim_queue *queue, int type, uint32_t id);
void *uvshim_req(uvshim_queue *queue, int type, uint32_t id);
void uvshim_free(uvshim_queue *queue, void *p);
void uvshim_set_id(void *p, uint32_t id);

/* 0: no event is there, and uv_run would find nothing to do at all. */
int uvshim_look(uvshim_queue *queue);
/* The same for a loop that never waits: asks the kernel once a microsecond at most. */
int uvshim_glance(uvshim_queue *queue);
/* One turn of uv_run that waits at most timeout ms (0: not at all), also when no handle keeps the
 * loop alive, or as below. When Lua has set the count of `events` to 0, what they showed is forgotten. */
enum {
    UVSHIM_FOREVER = -1,    /* until an event */
    UVSHIM_WHILE_ALIVE = -2 /* the same, but not at all when nothing of libuv's is alive */
};
void uvshim_poll(uvshim_queue *queue, double timeout);
/* The same for a loop in which Lua has nothing to do before `due`, uv_now()'s ms or infinite: it waits until
 * then. `refs` are the references of Lua's own handles, `others` the handles and requests that Lua knows to
 * be libuv's. Returns 0 without having polled when something is due, or nothing keeps the loop alive; 1: it
 * has polled; 2: Lua has to wait, by uvshim_wait, and to hand what that returns to uvshim_take. */
int uvshim_turn(uvshim_queue *queue, int32_t refs, int32_t others, double due);
int uvshim_wait(uvshim_queue *queue);
void uvshim_take(uvshim_queue *queue, int n);
/* An option of the loop was set, which libuv alone obeys: it has to poll. */
void uvshim_configured(uvshim_queue *queue);
/* For a turn that does not wait: 1 when no event is there and `due` is later. `idles` are the idle handles: with
 * some the kernel is asked once a microsecond at most, see uvshim_glance. */
int uvshim_pass(uvshim_queue *queue, int32_t others, int32_t idles, double due);
/* As uv_async_send, from the loop's own thread: the kernel need not hear of it. */
int uvshim_async_send(uv_async_t *async);
/* Reads the clock into `now`, and returns it. */
double uvshim_update_time(uvshim_queue *queue);
/* As uv_spawn, into memory of the type UV_PROCESS; the handle may be a poll to libuv. Also sets the child's id. */
int uvshim_spawn(uvshim_queue *queue, void *process, const uv_process_options_t *options, int32_t *pid);
/* How many datagrams one recvmmsg may bring. */
void uvshim_set_mmsgs(uv_udp_t *handle, uint32_t mmsgs);
/* Lua has taken over an accepted handle. */
void uvshim_claimed(uv_stream_t *server);
/* As uv_try_write; but after UV_EINTR and UV_ENOBUFS that has to be asked, which knows what to do. */
int uvshim_try_write(uv_stream_t *stream, const uv_buf_t *list, unsigned n);
/* As uv_udp_try_send, with the same exceptions; and uv_udp_connect. */
int uvshim_udp_send(uv_udp_t *udp, const uv_buf_t *list, unsigned n, const struct sockaddr *to);
int uvshim_udp_connect(uv_udp_t *udp, const struct sockaddr *to);
/* Ends the writing side of a stream for which nothing waits to be written: 0, or UV_EAGAIN, when uv_shutdown has to
 * be asked. */
int uvshim_try_shutdown(uv_stream_t *stream);

/* A message is Lua values as a string (lua/moonlap/uv/message.lua). It begins with the number of
 * mailboxes and semaphores that it names and their addresses, as doubles, and holds each of them until it
 * is dropped; a copy takes the holds over. */
char *uvshim_message_copy(const char *message, size_t size);
void uvshim_message_drop(const char *message);
/* Drops it and frees its memory; NULL does nothing. */
void uvshim_message_free(char *message);

/* Runs `message` in a new thread with a new Lua state, which the source `boot` makes ready and gives
 * the function for; drops it, also on failure. NULL: *status is libuv's error, ENOSYS where the host
 * hides Lua's C API. The stack size is in bytes, below 0 libuv's. The thread goes on when its record
 * is dropped. */
uvshim_thread *uvshim_thread_start(const char *boot, size_t boot_size, const char *message, size_t size,
                                   double stack_size, int *status);
int uvshim_thread_join(uvshim_thread *thread);
/* Nobody will join it. */
int uvshim_thread_detach(uvshim_thread *thread);
void uvshim_thread_drop(uvshim_thread *thread);
/* A thread's identity; NULL: of the one that asks. */
double uvshim_thread_id(uvshim_thread *thread);

/* Lua states for the thread pool, which the source `boot` makes ready, to be used again until the queue is
 * closed. Returns 0 or UV_ENOMEM; the first call counts. */
int uvshim_work_open(uvshim_queue *queue, const char *boot, size_t boot_size);
void uvshim_work_drop(void *work);
void uvshim_states_close(uvshim_states *states);
void uvshim_works_close(struct uvshim_works *works);

/* The mailbox of an async, made at the first call; NULL: no memory. Other threads hold and drop it
 * and send; the async's own thread closes it (freeing the async does, too) and takes messages. */
uvshim_mailbox *uvshim_mailbox_of(uv_async_t *async);
uvshim_mailbox *uvshim_mailbox_new(uv_async_t *async);
void uvshim_mailbox_hold(uvshim_mailbox *box);
void uvshim_mailbox_drop(uvshim_mailbox *box);
void uvshim_mailbox_close(uvshim_mailbox *box);
/* Wakes the async; the message replaces one that waits. EINVAL: the async is closing, and the message
 * is dropped. */
int uvshim_mailbox_send(uvshim_mailbox *box, const char *message, size_t size);
/* The message, the caller's now, or NULL. */
char *uvshim_mailbox_take(uvshim_mailbox *box, size_t *size);

/* A semaphore; NULL: *status is libuv's error. Any thread may hold, drop and use it. */
typedef struct uvshim_sem uvshim_sem;
uvshim_sem *uvshim_sem_new(unsigned value, int *status);
void uvshim_sem_hold(uvshim_sem *sem);
void uvshim_sem_drop(uvshim_sem *sem);
void uvshim_sem_post(uvshim_sem *sem);
void uvshim_sem_wait(uvshim_sem *sem);
int uvshim_sem_trywait(uvshim_sem *sem);

/* A file's statistics as libuv reports them, in doubles: Lua reads those without making an object. */
typedef struct {
    double dev, mode, nlink, uid, gid, rdev, ino, size, blksize, blocks;
    struct {
        double sec, nsec;
    } atime, mtime, ctime, birthtime;
} uvshim_file;
/* The kernel's struct statx. */
typedef struct {
    uint64_t words[32];
} uvshim_statx;
/* Asks the kernel at once, as statx(2) does. Returns 0, or libuv's error; unless that is UV_ENOENT,
 * libuv has to be asked, which knows other ways. */
int uvshim_stat(int fd, const char *path, int flags, uvshim_statx *statx);
void uvshim_read_stat(const uvshim_statx *statx, uvshim_file *file);

/* Where this library lies, for Lua's package.loadlib; NULL where the host hides Lua's C API. */
const char *uvshim_path(void);
/* A Lua function of (into, like, n): puts n userdata into a table at 1 to n, each with the metatable of
 * the userdata `like` and room for an int32_t, which is 0. */
struct lua_State;
int uvshim_userdata(struct lua_State *L);
/* A Lua function of (metatable): an empty userdata with that metatable. */
int uvshim_object(struct lua_State *L);
/* Lua functions of (function): a function of C that calls it with what it is given, and returns what that
 * returns; the second one on the main coroutine of the state, where that is known. */
int uvshim_barrier(struct lua_State *L);
int uvshim_main_barrier(struct lua_State *L);
/* Of a Lua function that makes a message of values, or values of one: the same in C, which leaves to it
 * what it cannot do. */
int uvshim_encoder(struct lua_State *L);
int uvshim_decoder(struct lua_State *L);
/* The functions of work, see work.c. */
int uvshim_work_functions(struct lua_State *L);

/* The callbacks to hand to libuv. */
void uvshim_on_close(uv_handle_t *handle);
void uvshim_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf);
void uvshim_on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf);
void uvshim_on_connection(uv_stream_t *server, int status);
void uvshim_on_write(uv_write_t *req, int status);
void uvshim_on_connect(uv_connect_t *req, int status);
void uvshim_on_shutdown(uv_shutdown_t *req, int status);
void uvshim_on_udp_send(uv_udp_send_t *req, int status);
void uvshim_on_fs(uv_fs_t *req);
void uvshim_on_getaddrinfo(uv_getaddrinfo_t *req, int status, struct addrinfo *res);
void uvshim_on_getnameinfo(uv_getnameinfo_t *req, int status, const char *host, const char *service);
void uvshim_on_random(uv_random_t *req, int status, void *buf, size_t buflen);
void uvshim_on_work(uv_work_t *req, int status);
void uvshim_on_poll(uv_poll_t *handle, int status, int events);
void uvshim_on_signal(uv_signal_t *handle, int signum);
void uvshim_on_async(uv_async_t *handle);
void uvshim_on_exit(uv_process_t *handle, int64_t status, int signal);
void uvshim_on_fs_event(uv_fs_event_t *handle, const char *name, int events, int status);
void uvshim_on_fs_poll(uv_fs_poll_t *handle, int status, const uv_stat_t *prev, const uv_stat_t *curr);
void uvshim_on_recv_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf);
void uvshim_on_recv(uv_udp_t *handle, ssize_t nread, const uv_buf_t *buf, const struct sockaddr *address,
                    unsigned flags);

#endif

#include "uvshim.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/epoll.h>
#endif

/* Below this a read is put off: the socket is level-triggered, so it comes again after the drain. */
#define SMALLEST_READ 4096
/* What one stream may read in a turn: more would push the bytes out of the cache before Lua sees
 * them, and keep other streams from the slab. Half again what lua/moonlap/uv/pending.lua lets one
 * write: a reader in the same process has to keep up. */
#define MOST_READ (192 * 1024)
/* So many accepted connections may wait for Lua; the next one stays with libuv and the kernel. */
#define MAX_UNCLAIMED 128
/* ms */
#define FAR_AWAY 86400000

/* What stands before every handle and request. */
typedef struct uvshim_block {
    struct uvshim_block *next, **link;
    uint32_t is_handle, is_work;
    uvshim_mailbox *mailbox; /* async: made when another Lua state is to have it */
    uint32_t unclaimed; /* server: accepted handles that Lua has not taken over */
    uint32_t drain, taken; /* stream: bytes that it has read since that drain */
    uint32_t mmsgs;     /* udp: datagrams in one recvmmsg, 0 without */
    char *received;     /* udp: where the buffer lies that libuv reads into */
} uvshim_block;

/* What the slab had no room for. */
typedef struct uvshim_spill {
    struct uvshim_spill *next;
    void *aligned[1];
} uvshim_spill;

#define HEADER ((sizeof(uvshim_block) + 15) & ~(size_t)15)

static uvshim_block *block_of(void *p) { return (uvshim_block *)((char *)p - HEADER); }
static void *inside(uvshim_block *block) { return (char *)block + HEADER; }
static uint32_t id_of(const void *data) { return (uint32_t)(uintptr_t)data; }

uint32_t uvshim_abi(void) { return UVSHIM_ABI; }

/* -- records ---------------------------------------------------------------------------------- */

/* A record that finds no memory is counted, and Lua raises an error after the poll. */
static uvshim_event *append(uvshim_queue *queue, uvshim_vector *vector, uint32_t kind, void *data) {
    uvshim_event *event;

    if (vector->count == vector->capacity) {
        uint32_t capacity = vector->capacity ? vector->capacity * 2 : 256;
        uvshim_event *at = realloc(vector->at, capacity * sizeof *at);
        if (at == NULL) {
            queue->lost++;
            return NULL;
        }
        vector->at = at;
        vector->capacity = capacity;
    }
    event = &vector->at[vector->count++];
    event->kind = kind;
    event->id = id_of(data);
    event->result = 0;
    event->extra = 0;
    event->data = NULL;
    return event;
}

static void record(uv_handle_t *handle, uint32_t kind, int64_t result, uint32_t extra, void *data) {
    uvshim_queue *queue = handle->loop->data;
    uvshim_event *event = append(queue, &queue->events, kind, handle->data);

    if (event != NULL) {
        event->result = (int32_t)result;
        event->extra = extra;
        event->data = data;
    }
}

/* Room in the slab that lasts until the drain, or NULL. */
static char *slab_take(uvshim_queue *queue, size_t size) {
    char *p = queue->slab + queue->slab_used;

    size = (size + 15) & ~(size_t)15;
    if (queue->slab_size - queue->slab_used < size)
        return NULL;
    queue->slab_used += (uint32_t)size;
    return p;
}

void uvshim_drained(uvshim_queue *queue) {
    queue->events.count = 0;
    queue->slab_used = 0;
    queue->drains++;
    while (queue->spilled != NULL) {
        uvshim_spill *spill = queue->spilled;
        queue->spilled = spill->next;
        free(spill);
    }
}

/* -- memory ----------------------------------------------------------------------------------- */

static void *block_new(uvshim_queue *queue, size_t size, uint32_t is_handle, uint32_t id) {
    uvshim_block *block = calloc(1, HEADER + size);

    if (block == NULL)
        return NULL;
    block->is_handle = is_handle;
    block->next = queue->blocks;
    block->link = &queue->blocks;
    if (block->next != NULL)
        block->next->link = &block->next;
    queue->blocks = block;
    uvshim_set_id(inside(block), id);
    return inside(block);
}

void *uvshim_handle(uvshim_queue *queue, int type, uint32_t id) {
    return block_new(queue, uv_handle_size((uv_handle_type)type), 1, id);
}

void *uvshim_req(uvshim_queue *queue, int type, uint32_t id) {
    size_t size = type == UV_WORK ? sizeof(uvshim_work) : uv_req_size((uv_req_type)type);
    void *req = block_new(queue, size, 0, id);

    if (req != NULL)
        block_of(req)->is_work = type == UV_WORK;
    return req;
}

void uvshim_free(uvshim_queue *queue, void *p) {
    uvshim_block *block = block_of(p);

    (void)queue;
    *block->link = block->next;
    if (block->next != NULL)
        block->next->link = block->link;
    if (block->mailbox != NULL) {
        uvshim_mailbox_close(block->mailbox);
        uvshim_mailbox_drop(block->mailbox);
    }
    if (block->is_work)
        uvshim_work_drop(p);
    free(block);
}

/* `data` is the first field of every handle and request: libuv promises that. */
void uvshim_set_id(void *p, uint32_t id) { *(void **)p = (void *)(uintptr_t)id; }

/* -- the loop --------------------------------------------------------------------------------- */

/* libuv before 1.45 runs timers at the start of uv_run: an alarm that is due by then would be over,
 * and the poll would wait without it. A stopped loop does not wait. */
static void on_alarm(uv_timer_t *alarm) { uv_stop(alarm->loop); }

uvshim_queue *uvshim_open(uint32_t slab_size, int *status) {
    uvshim_queue *queue = calloc(1, sizeof *queue);

    *status = UV_ENOMEM;
    if (queue == NULL)
        return NULL;
    queue->loop = calloc(1, uv_loop_size());
    queue->alarm = calloc(1, uv_handle_size(UV_TIMER));
    if (posix_memalign((void **)&queue->slab, 4096, slab_size) != 0)
        queue->slab = NULL;
    queue->slab_size = slab_size;
    if (queue->loop != NULL && queue->alarm != NULL && queue->slab != NULL)
        *status = uv_loop_init(queue->loop);
    if (*status != 0) {
        free(queue->slab);
        free(queue->alarm);
        free(queue->loop);
        free(queue);
        return NULL;
    }
    queue->loop->data = queue;
    uv_timer_init(queue->loop, queue->alarm);
    queue->now = (double)uv_now(queue->loop);
    return queue;
}

void uvshim_close(uvshim_queue *queue) {
    uvshim_block *block;

    queue->finishing = 1;
    for (block = queue->blocks; block != NULL; block = block->next) {
        if (!block->is_handle)
            uv_cancel(inside(block));
        else if (((uv_handle_t *)inside(block))->loop != NULL && !uv_is_closing(inside(block)))
            uv_close(inside(block), uvshim_on_close);
        if (block->mailbox != NULL) /* nobody may send once the loop is closed */
            uvshim_mailbox_close(block->mailbox);
    }
    uv_close((uv_handle_t *)queue->alarm, NULL);
    do {
        uv_run(queue->loop, UV_RUN_DEFAULT);
        uvshim_drained(queue);
        queue->closing.count = 0;
    } while (uv_loop_close(queue->loop) == UV_EBUSY);
    while (queue->blocks != NULL)
        uvshim_free(queue, inside(queue->blocks));
    uvshim_states_close(queue->states);
    free(queue->events.at);
    free(queue->closing.at);
    free(queue->slab);
    free(queue->alarm);
    free(queue->loop);
    free(queue);
}

#ifdef __linux__
/* Would uv_run find nothing at all to do? Asking the kernel outright takes a third less time. Timers
 * (of fs_poll), descriptors that libuv has not told the kernel of, and what it puts off are uv_run's. */
static int nothing_happened(uv_loop_t *loop) {
    struct epoll_event event;
    void *first_watcher = *(void **)&loop->watcher_queue;

    return uv_backend_timeout(loop) == -1 && first_watcher == (void *)&loop->watcher_queue &&
           epoll_wait(uv_backend_fd(loop), &event, 1, 0) == 0;
}
#else
static int nothing_happened(uv_loop_t *loop) { (void)loop; return 0; }
#endif

int uvshim_poll(uvshim_queue *queue, double timeout) {
    uv_loop_t *loop = queue->loop;
    int alive, needs_alarm;

    /* Where the last poll brought something the next one may, too: then asking would be in vain. */
    if (timeout == 0 && queue->quiet && nothing_happened(loop))
        return 0;
    /* uv_run does nothing at all for a loop that is not alive, but handles without a reference
     * have their events too as long as Lua turns: the alarm keeps the loop alive for that. */
    alive = uv_loop_alive(loop);
    if (timeout == UVSHIM_WHILE_ALIVE)
        timeout = alive ? UVSHIM_FOREVER : 0;
    needs_alarm = timeout > 0 || !alive;
    if (needs_alarm)
        uv_timer_start(queue->alarm, on_alarm, timeout < 0 ? FAR_AWAY : (uint64_t)timeout, 0);
    uv_run(loop, timeout == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    if (needs_alarm)
        uv_timer_stop(queue->alarm);
    queue->now = (double)uv_now(loop);
    queue->quiet = queue->events.count == 0 && queue->closing.count == 0;
    return 1;
}

void uvshim_update_time(uvshim_queue *queue) {
    uv_update_time(queue->loop);
    queue->now = (double)uv_now(queue->loop);
}

/* -- requests --------------------------------------------------------------------------------- */

/* libuv cancels a closing stream's requests in its closing phase, before the close callback. */
static void request_ended(uv_loop_t *loop, void *req, int64_t status, int closing) {
    uvshim_queue *queue = loop->data;
    uvshim_event *event =
        append(queue, closing ? &queue->closing : &queue->events, UVSHIM_REQ, *(void **)req);

    if (event != NULL) {
        event->result = (int32_t)status;
        event->data = req;
    }
}

#define HANDLE_REQUEST(name, type)                                                         \
    void uvshim_on_##name(type *req, int status) {                                         \
        request_ended(req->handle->loop, req, status, uv_is_closing((uv_handle_t *)req->handle)); \
    }

HANDLE_REQUEST(write, uv_write_t)
HANDLE_REQUEST(connect, uv_connect_t)
HANDLE_REQUEST(shutdown, uv_shutdown_t)
HANDLE_REQUEST(udp_send, uv_udp_send_t)

/* An uv_fs_t is cleaned up by Lua when it has read the result, here when it never will. */
void uvshim_on_fs(uv_fs_t *req) {
    uvshim_queue *queue = req->loop->data;

    if (queue->finishing)
        uv_fs_req_cleanup(req);
    request_ended(req->loop, req, req->result < 0 ? req->result : 0, 0);
}

void uvshim_on_getaddrinfo(uv_getaddrinfo_t *req, int status, struct addrinfo *res) {
    uvshim_queue *queue = req->loop->data;

    if (queue->finishing && res != NULL)
        uv_freeaddrinfo(res);
    request_ended(req->loop, req, status, 0);
}

void uvshim_on_getnameinfo(uv_getnameinfo_t *req, int status, const char *host, const char *service) {
    (void)host;
    (void)service;
    request_ended(req->loop, req, status, 0);
}

void uvshim_on_random(uv_random_t *req, int status, void *buf, size_t buflen) {
    (void)buf;
    (void)buflen;
    request_ended(req->loop, req, status, 0);
}

void uvshim_on_work(uv_work_t *req, int status) { request_ended(req->loop, req, status, 0); }

/* -- streams ---------------------------------------------------------------------------------- */

void uvshim_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    uvshim_queue *queue = handle->loop->data;
    uvshim_block *block = block_of(handle);
    size_t left = queue->slab_size - queue->slab_used;

    if (block->drain != queue->drains) {
        block->drain = queue->drains;
        block->taken = 0;
    }
    if (left < SMALLEST_READ || block->taken >= MOST_READ) {
        buf->base = NULL;
        buf->len = 0;
        return;
    }
    buf->base = queue->slab + queue->slab_used;
    buf->len = left < suggested ? left : suggested;
}

void uvshim_on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf) {
    uvshim_queue *queue = stream->loop->data;

    /* Nothing to read yet, or no room: either comes again. */
    if (nread == 0 || nread == UV_ENOBUFS)
        return;
    if (nread > 0) {
        slab_take(queue, (size_t)nread);
        block_of(stream)->taken += (uint32_t)nread;
    }
    record((uv_handle_t *)stream, UVSHIM_READ, nread, 0, nread > 0 ? buf->base : NULL);
}

/* Accepts at once, so that libuv goes on accepting in the same turn. */
void uvshim_on_connection(uv_stream_t *server, int status) {
    uvshim_queue *queue = server->loop->data;
    uvshim_block *block = block_of(server);
    void *client = NULL;

    if (status == 0 && !queue->finishing && block->unclaimed < MAX_UNCLAIMED)
        client = uvshim_handle(queue, server->type, 0);
    if (client != NULL) {
        if (server->type == UV_TCP)
            uv_tcp_init(server->loop, client);
        else
            uv_pipe_init(server->loop, client, 0);
        status = uv_accept(server, client);
        if (status == 0) {
            block->unclaimed++;
        } else {
            uv_close(client, uvshim_on_close);
            client = NULL;
        }
    }
    record((uv_handle_t *)server, UVSHIM_CONNECTION, status, 0, client);
}

void uvshim_claimed(uv_stream_t *server) { block_of(server)->unclaimed--; }

/* -- udp -------------------------------------------------------------------------------------- */

/* libuv cuts a buffer for recvmmsg into pieces of this size, the largest datagram. */
#define DATAGRAM 65536

void uvshim_set_mmsgs(uv_udp_t *handle, uint32_t mmsgs) { block_of(handle)->mmsgs = mmsgs; }

/* In the slab first a uvshim_datagram for each message that may come, then their bytes. */
void uvshim_on_recv_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    uvshim_queue *queue = handle->loop->data;
    uvshim_block *block = block_of(handle);
    size_t left = queue->slab_size - queue->slab_used;
    size_t most = left / (DATAGRAM + sizeof(uvshim_datagram));
    size_t messages = block->mmsgs > 1 ? block->mmsgs : 1;

    (void)suggested;
    if (messages > most)
        messages = most;
    block->received = queue->slab + queue->slab_used + messages * sizeof(uvshim_datagram);
    buf->base = messages > 0 ? block->received : NULL;
    buf->len = messages * DATAGRAM;
}

void uvshim_on_recv(uv_udp_t *handle, ssize_t nread, const uv_buf_t *buf, const struct sockaddr *address,
                    unsigned flags) {
    uvshim_queue *queue = handle->loop->data;
    uvshim_block *block = block_of(handle);
    uvshim_datagram *datagram = NULL;

    /* No room: it comes again after the drain. MMSG_FREE only gives the buffer back. */
    if (nread == UV_ENOBUFS || (flags & UV_UDP_MMSG_FREE))
        return;
    if (nread >= 0 && address != NULL) {
        size_t piece = (size_t)(buf->base - block->received) / DATAGRAM;
        char *end = buf->base + ((nread + 15) & ~15);
        datagram = (uvshim_datagram *)block->received - 1 - piece;
        memcpy(datagram->address, address,
               address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
        datagram->base = buf->base;
        queue->slab_used = (uint32_t)(end - queue->slab);
    }
    record((uv_handle_t *)handle, UVSHIM_RECV, nread, flags, datagram);
}

/* -- other handles ---------------------------------------------------------------------------- */

void uvshim_on_close(uv_handle_t *handle) {
    uvshim_queue *queue = handle->loop->data;
    uvshim_event *event = append(queue, &queue->closing, UVSHIM_CLOSED, handle->data);

    if (event != NULL)
        event->data = handle;
}

void uvshim_on_poll(uv_poll_t *handle, int status, int events) {
    record((uv_handle_t *)handle, UVSHIM_POLL, status, (uint32_t)events, NULL);
}

void uvshim_on_signal(uv_signal_t *handle, int signum) {
    record((uv_handle_t *)handle, UVSHIM_SIGNAL, signum, 0, NULL);
}

uvshim_mailbox *uvshim_mailbox_of(uv_async_t *async) {
    uvshim_block *block = block_of(async);

    if (block->mailbox == NULL)
        block->mailbox = uvshim_mailbox_new(async);
    return block->mailbox;
}

void uvshim_on_async(uv_async_t *handle) { record((uv_handle_t *)handle, UVSHIM_ASYNC, 0, 0, NULL); }

void uvshim_on_exit(uv_process_t *handle, int64_t status, int signal) {
    record((uv_handle_t *)handle, UVSHIM_EXIT, status, (uint32_t)signal, NULL);
}

/* What libuv shows only during the callback is copied: into the slab, or when that is full into
 * memory that the drain frees. */
static void *copied(uvshim_queue *queue, const void *data, size_t size) {
    char *p = slab_take(queue, size);

    if (p == NULL) {
        uvshim_spill *spill = malloc(sizeof *spill + size);
        if (spill == NULL) {
            queue->lost++;
            return NULL;
        }
        spill->next = queue->spilled;
        queue->spilled = spill;
        p = (char *)(spill + 1);
    }
    return memcpy(p, data, size);
}

void uvshim_on_fs_event(uv_fs_event_t *handle, const char *name, int events, int status) {
    if (name != NULL)
        name = copied(handle->loop->data, name, strlen(name) + 1);
    record((uv_handle_t *)handle, UVSHIM_FS_EVENT, status, (uint32_t)events, (void *)name);
}

void uvshim_on_fs_poll(uv_fs_poll_t *handle, int status, const uv_stat_t *prev, const uv_stat_t *curr) {
    uv_stat_t both[2] = {*prev, *curr};

    record((uv_handle_t *)handle, UVSHIM_FS_POLL, status, 0,
           copied(handle->loop->data, both, sizeof both));
}


/*
 * What libuv calls back: each callback appends a record for Lua to read. Bytes go into the queue's
 * slab, where they last until Lua has used the records.
 */
#include "block.h"

#include <stdlib.h>
#include <string.h>

/* Below this a read is put off: the socket is level-triggered, so it comes again after the drain. */
#define SMALLEST_READ 4096
/* So many accepted connections may wait for Lua; the next one stays with libuv and the kernel. */
#define MAX_UNCLAIMED 128

/* What the slab had no room for. */
typedef struct uvshim_spill {
    struct uvshim_spill *next;
    void *aligned[1];
} uvshim_spill;

static int32_t id_of(const void *data) { return (int32_t)(uintptr_t)data; }

/* -- records ---------------------------------------------------------------------------------- */

/* A record that finds no memory is counted, and Lua raises an error after the poll. */
static uvshim_event *add(uvshim_queue *queue, uvshim_vector *vector, int32_t kind, void *data) {
    uvshim_event *event;

    if (vector->count == vector->capacity) {
        int32_t capacity = vector->capacity ? vector->capacity * 2 : 256;
        uvshim_event *at = realloc(vector->at, (size_t)capacity * sizeof *at);
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

/* libuv must not wait for more before Lua has it: what is put off comes before the poll. */
static uvshim_event *append(uvshim_queue *queue, uvshim_vector *vector, int32_t kind, void *data) {
    uv_stop(queue->loop);
    return add(queue, vector, kind, data);
}

static void record(uv_handle_t *handle, int32_t kind, int64_t result, uint32_t extra, void *data) {
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

void uvshim_empty_slab(uvshim_queue *queue) {
    queue->slab_used = 0;
    queue->drains++;
    while (queue->spilled != NULL) {
        uvshim_spill *spill = queue->spilled;
        queue->spilled = spill->next;
        free(spill);
    }
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

void uvshim_on_work(uv_work_t *req, int status) {
    uvshim_queue *queue = req->loop->data;

    (void)status; /* nobody cancels work but the end of the queue */
    append(queue, &queue->events, UVSHIM_WORK, req->data);
}

/* -- streams ---------------------------------------------------------------------------------- */

/* A stream reads once a poll, so that the bytes are in the cache still when Lua gets them, and other
 * streams find room. Where libuv would have read on, so does Lua, by another poll. */
void uvshim_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    uvshim_queue *queue = handle->loop->data;
    uvshim_block *block = block_of(handle);
    size_t left = queue->slab_size - queue->slab_used;

    if (left < SMALLEST_READ || block->drain == queue->drains) {
        buf->base = NULL;
        buf->len = 0;
        return;
    }
    buf->base = queue->slab + queue->slab_used;
    buf->len = left < suggested ? left : suggested;
}

void uvshim_on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf) {
    uvshim_queue *queue = stream->loop->data;

    if (nread == 0) /* nothing to read yet */
        return;
    if (nread == UV_ENOBUFS) {
        queue->more = 1;
        return;
    }
    if (nread > 0) {
        slab_take(queue, (size_t)nread);
        block_of(stream)->drain = queue->drains;
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
    /* "None" comes after nearly each datagram: a kind of its own, so that both are decoded by compiled code. */
    record((uv_handle_t *)handle, nread == 0 && address == NULL ? UVSHIM_RECV_NONE : UVSHIM_RECV, nread, flags,
           datagram);
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

void uvshim_on_async(uv_async_t *handle) { record((uv_handle_t *)handle, UVSHIM_ASYNC, 0, 0, NULL); }

void uvshim_record_sent(uvshim_queue *queue) {
    uvshim_block *block = queue->sent_to;

    queue->sent_to = NULL;
    queue->sent_end = &queue->sent_to;
    queue->sent = 0;
    for (; block != NULL; block = block->next_sent) {
        uv_handle_t *async = inside(block);
        block->is_sent = 0;
        if (!uv_is_closing(async))
            add(queue, &queue->events, UVSHIM_ASYNC, async->data);
    }
}

void uvshim_on_exit(uv_process_t *handle, int64_t status, int signal) {
    record((uv_handle_t *)handle, UVSHIM_EXIT, status, (uint32_t)signal, NULL);
}

/* The same after the poll, where a loop that is told to stop would do so in the next one. */
void uvshim_record_exit(uvshim_queue *queue, uv_handle_t *process, int status, int signal) {
    uvshim_event *event = add(queue, &queue->events, UVSHIM_EXIT, process->data);

    if (event != NULL) {
        event->result = status;
        event->extra = (uint32_t)signal;
    }
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

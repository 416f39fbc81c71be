/*
 * Turns of a loop in which nothing but descriptors has anything to tell. The kernel is asked by a call
 * that ends in the system call, see kernel.h, and what it says goes to the functions that libuv has for it.
 * uv_run would read the clock twice more, look at eight kinds of handles that are not there, and return
 * through seven functions.
 *
 * This does what uv__io_poll of libuv 1.44 does with one answer of the kernel's. With any other libuv
 * that one polls.
 */
#include "block.h"
#include "kernel.h"

#include <math.h>
#include <stdlib.h>

/* ms; longer waits are taken in pieces. */
#define LONGEST_WAIT 2147483647.0

#if defined(__linux__) && UV_VERSION_HEX >= 0x012c00 && UV_VERSION_HEX < 0x012d00
#include <poll.h>
#include <sys/epoll.h>

/* As many as libuv takes at once. */
#define MOST 1024

struct uvshim_ready {
    struct epoll_event at[MOST];
};

struct uvshim_ready *uvshim_ready_new(const uv_loop_t *loop) {
    if (uv_version() >> 8 != 0x012c || uv_loop_size() != sizeof(uv_loop_t) ||
        uv_backend_fd(loop) != loop->backend_fd)
        return NULL;
    return malloc(sizeof(struct uvshim_ready));
}

static int is_empty(void *const *list) { return *list == (const void *)list; }

/* Descriptors that the kernel does not know yet, timers, and what libuv puts off are uv_run's. */
static int can_wait(const uvshim_queue *queue) {
    return queue->ready != NULL && is_empty(queue->loop->watcher_queue) &&
           uv_backend_timeout(queue->loop) == -1;
}

int uvshim_wait(uvshim_queue *queue) {
    return uvshim_kernel(UVSHIM_EPOLL_WAIT, queue->loop->backend_fd, (long)queue->ready, MOST,
                         queue->timeout, 0);
}

static void call_back(uv_loop_t *loop, struct epoll_event *event, int *signals) {
    int fd = event->data.fd;
    uv__io_t *watcher = fd >= 0 ? loop->watchers[fd] : NULL;
    uint32_t events;

    if (fd < 0) /* closed meanwhile, see uv__platform_invalidate_fd */
        return;
    if (watcher == NULL) {
        epoll_ctl(loop->backend_fd, EPOLL_CTL_DEL, fd, event);
        return;
    }
    events = event->events & (watcher->pevents | POLLERR | POLLHUP);
    if (events == POLLERR || events == POLLHUP)
        events |= watcher->pevents & (POLLIN | POLLOUT | POLLRDHUP | POLLPRI);
    if (events == 0)
        return;
    if (watcher == &loop->signal_io_watcher)
        *signals = 1;
    else
        watcher->cb(loop, watcher, events);
}

void uvshim_take(uvshim_queue *queue, int n) {
    uv_loop_t *loop = queue->loop;
    int signals = 0;

    uv_update_time(loop);
    /* Here libuv looks for events of a descriptor that is being closed. */
    loop->watchers[loop->nwatchers] = (void *)queue->ready;
    loop->watchers[loop->nwatchers + 1] = (void *)(uintptr_t)(n > 0 ? n : 0);
    for (int i = 0; i < n; i++)
        call_back(loop, &queue->ready->at[i], &signals);
    if (signals)
        loop->signal_io_watcher.cb(loop, &loop->signal_io_watcher, POLLIN);
    loop->watchers[loop->nwatchers] = NULL;
    loop->watchers[loop->nwatchers + 1] = NULL;
    loop->stop_flag = 0;
    if (!is_empty(loop->pending_queue))
        uv_run(loop, UV_RUN_NOWAIT);
    uvshim_end_poll(queue);
}
#else
struct uvshim_ready *uvshim_ready_new(const uv_loop_t *loop) {
    (void)loop;
    return NULL;
}

static int can_wait(const uvshim_queue *queue) {
    (void)queue;
    return 0;
}

int uvshim_wait(uvshim_queue *queue) {
    (void)queue;
    return 0;
}

void uvshim_take(uvshim_queue *queue, int n) { (void)queue, (void)n; }
#endif

void uvshim_configured(uvshim_queue *queue) {
    free(queue->ready);
    queue->ready = NULL;
}

int uvshim_turn(uvshim_queue *queue, int32_t refs, int32_t others, double due) {
    double timeout = refs > 0 ? UVSHIM_FOREVER : UVSHIM_WHILE_ALIVE;

    if (refs == 0 && !(others > 0 && uv_loop_alive(queue->loop)))
        return 0;
    if (due < HUGE_VAL) {
        uv_update_time(queue->loop);
        timeout = due - (double)uv_now(queue->loop);
        if (refs == 0 || timeout <= 0)
            return 0;
        if (timeout > LONGEST_WAIT)
            timeout = LONGEST_WAIT;
    }
    if (!can_wait(queue)) {
        uvshim_poll(queue, timeout);
        return 1;
    }
    uvshim_begin_poll(queue);
    queue->timeout = timeout < 0 ? -1 : (int)timeout;
    if (queue->sent > 0) {
        queue->timeout = 0;
        uvshim_record_sent(queue);
    }
    return 2;
}

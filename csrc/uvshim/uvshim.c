/*
 * A queue and its loop: opened, polled, closed; and the memory of handles and requests.
 */
#include "block.h"
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ms */
#define FAR_AWAY 86400000

uint32_t uvshim_abi(void) { return UVSHIM_ABI; }

/* -- memory ----------------------------------------------------------------------------------- */

void *uvshim_block_new(uvshim_queue *queue, size_t size, uint32_t is_handle, uint32_t id) {
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
    /* A process that this library starts is watched through a poll, see spawn.c. */
    size_t size = uv_handle_size((uv_handle_type)type), other = type == UV_PROCESS ? uv_handle_size(UV_POLL) : 0;

    return uvshim_block_new(queue, size > other ? size : other, 1, id);
}

void *uvshim_req(uvshim_queue *queue, int type, uint32_t id) {
    return uvshim_block_new(queue, uv_req_size((uv_req_type)type), 0, id);
}

/* An async that is freed before its record was made. */
static void forget_sent(uvshim_queue *queue, uvshim_block *block) {
    uvshim_block **at = &queue->sent_to;

    while (*at != block)
        at = &(*at)->next_sent;
    *at = block->next_sent;
    if (queue->sent_end == &block->next_sent)
        queue->sent_end = at;
    queue->sent--;
}

void uvshim_free(uvshim_queue *queue, void *p) {
    uvshim_block *block = block_of(p);

    *block->link = block->next;
    if (block->next != NULL)
        block->next->link = block->link;
    if (block->mailbox != NULL) {
        uvshim_mailbox_close(block->mailbox);
        uvshim_mailbox_drop(block->mailbox);
    }
    if (block->is_work)
        uvshim_work_drop(p);
    if (block->is_sent)
        forget_sent(queue, block);
    if (block->is_process && block->pidfd >= 0)
        close(block->pidfd);
    free(block);
}

/* `data` is the first field of every handle and request: libuv promises that. */
void uvshim_set_id(void *p, uint32_t id) { *(void **)p = (void *)(uintptr_t)id; }

uvshim_mailbox *uvshim_mailbox_of(uv_async_t *async) {
    uvshim_block *block = block_of(async);

    if (block->mailbox == NULL)
        block->mailbox = uvshim_mailbox_new(async);
    return block->mailbox;
}

/* -- the loop --------------------------------------------------------------------------------- */

/* libuv before 1.45 runs timers at the start of uv_run: an alarm that is due by then would be over,
 * and the poll would wait without it. A stopped loop does not wait. */
static void on_alarm(uv_timer_t *alarm) { uv_stop(alarm->loop); }

/* Before 1.45 UV_RUN_ONCE reads the clock three times a turn, for the timers that it runs at the end;
 * UV_RUN_DEFAULT twice. That this is over after a turn is the work of a check handle. */
static void on_turn_end(uv_check_t *turn_end) { uv_stop(turn_end->loop); }

uvshim_queue *uvshim_open(uint32_t slab_size, int *status) {
    uvshim_queue *queue = calloc(1, sizeof *queue);

    *status = UV_ENOMEM;
    if (queue == NULL)
        return NULL;
    queue->loop = calloc(1, uv_loop_size());
    queue->alarm = calloc(1, uv_handle_size(UV_TIMER));
    queue->turn_end = calloc(1, uv_handle_size(UV_CHECK));
    if (posix_memalign((void **)&queue->slab, 4096, slab_size) != 0)
        queue->slab = NULL;
    queue->slab_size = slab_size;
    if (queue->loop != NULL && queue->alarm != NULL && queue->turn_end != NULL && queue->slab != NULL)
        *status = uv_loop_init(queue->loop);
    if (*status != 0) {
        free(queue->slab);
        free(queue->turn_end);
        free(queue->alarm);
        free(queue->loop);
        free(queue);
        return NULL;
    }
    queue->loop->data = queue;
    uv_timer_init(queue->loop, queue->alarm);
    queue->now = (double)uv_now(queue->loop);
    queue->mode = UV_RUN_ONCE;
    queue->sent_end = &queue->sent_to;
    queue->ready = uvshim_ready_new(queue->loop);
    if (uv_version() < 0x012d00) {
        queue->mode = UV_RUN_DEFAULT;
        uv_check_init(queue->loop, queue->turn_end);
        uv_check_start(queue->turn_end, on_turn_end);
        uv_unref((uv_handle_t *)queue->turn_end);
    }
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
    if (queue->mode == UV_RUN_DEFAULT)
        uv_close((uv_handle_t *)queue->turn_end, NULL);
    do {
        uv_run(queue->loop, UV_RUN_DEFAULT);
        uvshim_empty_slab(queue);
        queue->events.count = queue->closing.count = 0;
    } while (uv_loop_close(queue->loop) == UV_EBUSY);
    while (queue->blocks != NULL)
        uvshim_free(queue, inside(queue->blocks));
    uvshim_states_close(queue->states);
    uvshim_works_close(queue->works);
    free(queue->events.at);
    free(queue->closing.at);
    free(queue->ready);
    free(queue->letter);
    free(queue->slab);
    free(queue->turn_end);
    free(queue->alarm);
    free(queue->loop);
    free(queue);
}

/* Asking the kernel outright takes half of uv_run's time. Timers (of fs_poll), descriptors that libuv has
 * not told the kernel of, and what it puts off are uv_run's; and where the last poll brought something
 * the next one may, too: then asking would be in vain. */
#ifdef __linux__
static int can_look(const uvshim_queue *queue) {
    uv_loop_t *loop = queue->loop;
    void *first_watcher = *(void **)&loop->watcher_queue;

    return queue->quiet && first_watcher == (void *)&loop->watcher_queue && uv_backend_timeout(loop) == -1;
}
#endif

int uvshim_look(uvshim_queue *queue) {
#ifdef __linux__
    if (can_look(queue))
        return uvshim_kernel(UVSHIM_EPOLL_WAIT, uv_backend_fd(queue->loop), (long)queue->looked, 1, 0, 0);
#else
    (void)queue;
#endif
    return 1;
}

/* The kernel takes longer to answer than a callback to run. Of a clock without a call, 2048 ticks are a
 * microsecond or less; and who has just begun something, such as a write, is answered at once. */
int uvshim_glance(uvshim_queue *queue) {
#if defined(__linux__) && defined(__x86_64__)
    uint64_t now = __builtin_ia32_rdtsc();

    if (!can_look(queue))
        return 1;
    if (now - queue->glanced < 2048)
        return 0;
    queue->glanced = now;
    return uvshim_kernel(UVSHIM_EPOLL_WAIT, uv_backend_fd(queue->loop), (long)queue->looked, 1, 0, 0);
#else
    return uvshim_look(queue);
#endif
}

void uvshim_begin_poll(uvshim_queue *queue) {
    if (queue->events.count == 0)
        uvshim_empty_slab(queue);
    queue->more = 0;
}

void uvshim_end_poll(uvshim_queue *queue) {
    if (queue->ended != NULL)
        uvshim_record_ended(queue);
    queue->now = (double)uv_now(queue->loop);
    queue->quiet = queue->events.count == 0 && queue->closing.count == 0;
}

void uvshim_poll(uvshim_queue *queue, double timeout) {
    uv_loop_t *loop = queue->loop;
    int alive, needs_alarm;

    uvshim_begin_poll(queue);
    if (queue->sent > 0) {
        timeout = 0;
        uvshim_record_sent(queue);
    }
    /* uv_run does nothing at all for a loop that is not alive, but handles without a reference
     * have their events too as long as Lua turns: the alarm keeps the loop alive for that. */
    alive = uv_loop_alive(loop);
    if (timeout == UVSHIM_WHILE_ALIVE)
        timeout = alive ? UVSHIM_FOREVER : 0;
    needs_alarm = timeout > 0 || !alive;
    if (needs_alarm)
        uv_timer_start(queue->alarm, on_alarm, timeout < 0 ? FAR_AWAY : (uint64_t)timeout, 0);
    uv_run(loop, timeout == 0 ? UV_RUN_NOWAIT : queue->mode);
    if (needs_alarm)
        uv_timer_stop(queue->alarm);
    uvshim_end_poll(queue);
}

int uvshim_pass(uvshim_queue *queue, int32_t others, int32_t idles, double due) {
    if (queue->sent > 0 || (others > 0 && (idles > 0 ? uvshim_glance(queue) : uvshim_look(queue)) != 0))
        return 0;
    if (due == HUGE_VAL)
        return 1;
    uv_update_time(queue->loop);
    return due > (double)uv_now(queue->loop);
}

double uvshim_update_time(uvshim_queue *queue) {
    uv_update_time(queue->loop);
    return queue->now = (double)uv_now(queue->loop);
}

int uvshim_async_send(uv_async_t *async) {
    uvshim_queue *queue = async->loop->data;
    uvshim_block *block = block_of(async);

    queue->quiet = 0;
    if (!block->is_sent) {
        block->is_sent = 1;
        block->next_sent = NULL;
        *queue->sent_end = block;
        queue->sent_end = &block->next_sent;
        queue->sent++;
    }
    return 0;
}

/* making KIND N: N handles of a kind are made and closed, a hundred at a time. */
#include "measure.h"

static void on_close(uv_handle_t *handle) { free(handle); }

static void on_async(uv_async_t *async) { (void)async; }

#define KIND(name)                                                                    \
    static void make_##name(uv_loop_t *loop) {                                        \
        uv_##name##_t *handle = malloc(uv_handle_size(kind));                         \
        must(INIT_##name(loop, handle));                                              \
        handles[made++] = (uv_handle_t *)handle;                                      \
    }
#define INIT_timer uv_timer_init
#define INIT_idle uv_idle_init
#define INIT_async(loop, handle) uv_async_init(loop, handle, on_async)
#define INIT_signal uv_signal_init
#define INIT_fs_event uv_fs_event_init
#define INIT_fs_poll uv_fs_poll_init
#define INIT_tcp uv_tcp_init
#define INIT_udp uv_udp_init
#define INIT_pipe(loop, handle) uv_pipe_init(loop, handle, 0)

static uv_handle_t *handles[100];
static int made;
static uv_handle_type kind;

KIND(timer)
KIND(idle)
KIND(async)
KIND(signal)
KIND(fs_event)
KIND(fs_poll)
KIND(tcp)
KIND(udp)
KIND(pipe)

static const struct {
    const char *name;
    uv_handle_type type;
    void (*make)(uv_loop_t *);
} kinds[] = {
    {"timer", UV_TIMER, make_timer},          {"idle", UV_IDLE, make_idle},
    {"async", UV_ASYNC, make_async},          {"signal", UV_SIGNAL, make_signal},
    {"fs_event", UV_FS_EVENT, make_fs_event}, {"fs_poll", UV_FS_POLL, make_fs_poll},
    {"tcp", UV_TCP, make_tcp},                {"udp", UV_UDP, make_udp},
    {"pipe", UV_NAMED_PIPE, make_pipe},
};

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    void (*make)(uv_loop_t *) = NULL;
    long rounds = atol(argv[2]) / 100;
    double start;

    (void)argc;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kind = kinds[i].type;
            make = kinds[i].make;
        }
    }
    if (make == NULL)
        abort();
    start = cpu_seconds();
    for (long round = 0; round < rounds; round++) {
        for (made = 0; made < 100;)
            make(loop);
        for (int i = 0; i < 100; i++)
            uv_close(handles[i], on_close);
        uv_run(loop, UV_RUN_DEFAULT);
    }
    report(cpu_seconds() - start, (double)rounds * 100);
}

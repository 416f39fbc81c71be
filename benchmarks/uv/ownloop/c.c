/* ownloop MODE TURNS: the program's own loop around UV_RUN_NOWAIT or UV_RUN_ONCE, beside a timer that
 * is far off and a listening socket, with an idle handle, so that nothing waits. */
#include "measure.h"

static long called;

static void on_connection(uv_stream_t *stream, int status) { (void)stream, (void)status; }
static void on_timer(uv_timer_t *handle) { (void)handle; }
static void on_idle(uv_idle_t *handle) { (void)handle, called++; }

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    uv_run_mode mode = strcmp(argv[1], "nowait") == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE;
    long turns = atol(argv[2]), frames[64];
    uv_tcp_t server;
    uv_timer_t timer;
    uv_idle_t idle;
    double start;

    (void)argc;
    listen_on(loop, &server, on_connection);
    uv_timer_init(loop, &timer);
    uv_timer_start(&timer, on_timer, 3600000, 0);
    uv_idle_init(loop, &idle);
    uv_idle_start(&idle, on_idle);
    start = cpu_seconds();
    for (long turn = 0; turn < turns; turn++) {
        uv_run(loop, mode);
        frames[turn % 64] = called;
    }
    (void)frames;
    report(cpu_seconds() - start, (double)called);
}

/* idle HANDLES CALLS POLL: that many calls of idle handles; POLL 1: beside a listening socket. */
#include "measure.h"

static uv_idle_t *handles;
static uv_tcp_t server;
static long n, calls, called;
static int poll;

static void on_idle(uv_idle_t *handle) {
    (void)handle;
    if (++called < calls)
        return;
    for (long i = 0; i < n; i++)
        uv_idle_stop(&handles[i]);
    if (poll)
        uv_close((uv_handle_t *)&server, NULL);
}

static void on_connection(uv_stream_t *stream, int status) { (void)stream, (void)status; }

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    double start;

    (void)argc;
    n = atol(argv[1]), calls = atol(argv[2]), poll = atoi(argv[3]);
    if (poll)
        listen_on(loop, &server, on_connection);
    handles = calloc((size_t)n, sizeof *handles);
    for (long i = 0; i < n; i++) {
        uv_idle_init(loop, &handles[i]);
        uv_idle_start(&handles[i], on_idle);
    }
    start = cpu_seconds();
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, called);
}

/* idle HANDLES CALLS BESIDE: that many calls of idle handles; BESIDE: 0 nothing, 1 a listening
 * socket, 2 a timer that is far off, 3 both. */
#include "measure.h"

static uv_idle_t *handles;
static uv_tcp_t server;
static long n, calls, called;
static uv_timer_t timer;
static int beside;

static void on_idle(uv_idle_t *handle) {
    (void)handle;
    if (++called < calls)
        return;
    for (long i = 0; i < n; i++)
        uv_idle_stop(&handles[i]);
    if (beside % 2 == 1)
        uv_close((uv_handle_t *)&server, NULL);
    if (beside >= 2)
        uv_close((uv_handle_t *)&timer, NULL);
}

static void on_timer(uv_timer_t *handle) { (void)handle; }

static void on_connection(uv_stream_t *stream, int status) { (void)stream, (void)status; }

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    double start;

    (void)argc;
    n = atol(argv[1]), calls = atol(argv[2]), beside = atoi(argv[3]);
    if (beside % 2 == 1)
        listen_on(loop, &server, on_connection);
    if (beside >= 2) {
        uv_timer_init(loop, &timer);
        uv_timer_start(&timer, on_timer, 3600000, 0);
    }
    handles = calloc((size_t)n, sizeof *handles);
    for (long i = 0; i < n; i++) {
        uv_idle_init(loop, &handles[i]);
        uv_idle_start(&handles[i], on_idle);
    }
    start = cpu_seconds();
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, called);
}

/* closures TIMERS CALLS: timers of 0 ms, which start themselves again. */
#include "measure.h"

typedef struct {
    uv_timer_t timer;
    long called;
} state;

static long n, calls, called;

static void on_timer(uv_timer_t *timer) {
    called++;
    if (((state *)timer)->called++ < calls / n - 1)
        uv_timer_start(timer, on_timer, 0, 0);
    else
        uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    state *states;
    double start;

    (void)argc;
    n = atol(argv[1]), calls = atol(argv[2]);
    states = calloc((size_t)n, sizeof *states);
    start = cpu_seconds();
    for (long i = 0; i < n; i++) {
        uv_timer_init(loop, &states[i].timer);
        uv_timer_start(&states[i].timer, on_timer, 0, 0);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, (double)called);
}

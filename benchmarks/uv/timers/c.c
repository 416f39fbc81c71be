/* timers N: N one-shot timers of 1 to 1000 ms, all due when the loop runs, each closing itself.
 * The time between is slept, so that it is no CPU time. */
#include "measure.h"

static long fired;

static void on_close(uv_handle_t *handle) { free(handle); }

static void on_timer(uv_timer_t *timer) {
    fired++;
    uv_close((uv_handle_t *)timer, on_close);
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    long n = atol(argv[1]);
    unsigned long seed = 12345;
    double start = cpu_seconds();

    (void)argc;
    for (long i = 0; i < n; i++) {
        uv_timer_t *timer = malloc(sizeof *timer);
        seed = seed * 16807 % 2147483647;
        uv_timer_init(loop, timer);
        uv_timer_start(timer, on_timer, 1 + seed % 1000, 0);
    }
    uv_sleep(1100);
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, fired);
}

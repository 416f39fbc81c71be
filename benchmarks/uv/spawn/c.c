/* spawn N: N children that end at once, one after the other. The children's time is not counted. */
#include "measure.h"

static long n, ended;

static void spawn(void);

static void on_close(uv_handle_t *handle) { free(handle); }

static void on_exit_(uv_process_t *child, int64_t code, int signal) {
    (void)signal;
    must(-(int)code);
    uv_close((uv_handle_t *)child, on_close);
    if (++ended < n)
        spawn();
}

static void spawn(void) {
    char *args[] = {"/bin/true", "one", "two", NULL};
    uv_process_options_t options = {.exit_cb = on_exit_, .file = args[0], .args = args};

    must(uv_spawn(uv_default_loop(), malloc(sizeof(uv_process_t)), &options));
}

int main(int argc, char **argv) {
    double start;

    (void)argc;
    n = atol(argv[1]);
    start = cpu_seconds();
    spawn();
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    report(cpu_seconds() - start, ended);
}

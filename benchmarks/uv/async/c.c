/* async N BATCH: N sends to an async of this loop, so many a turn; what is sent waits in a struct. */
#include "measure.h"

static uv_async_t async;
static long n, batch;
static struct {
    double number;
    const char *word;
} sent;

static void send_some(void) {
    for (long i = 0; i < batch; i++) {
        sent.number++;
        sent.word = "done";
        must(uv_async_send(&async));
    }
}

static void on_async(uv_async_t *handle) {
    if (sent.number < (double)n)
        send_some();
    else
        uv_close((uv_handle_t *)handle, NULL);
}

int main(int argc, char **argv) {
    double start;

    (void)argc;
    n = atol(argv[1]), batch = atol(argv[2]);
    must(uv_async_init(uv_default_loop(), &async, on_async));
    start = cpu_seconds();
    send_some();
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    report(cpu_seconds() - start, sent.number);
}

/* work N FLIGHT: N pieces of work for the thread pool, so many at a time; a number there and back. */
#include "measure.h"

typedef struct {
    uv_work_t req;
    double x;
} piece;

static long n, started, finished;
static double sum;

static void do_work(uv_work_t *req) { ((piece *)req)->x += 1; }

static void queue_next(void);

static void after(uv_work_t *req, int status) {
    must(status);
    finished++;
    sum += ((piece *)req)->x;
    free(req);
    if (started < n)
        queue_next();
}

static void queue_next(void) {
    piece *p = malloc(sizeof *p);

    p->x = (double)++started;
    must(uv_queue_work(uv_default_loop(), &p->req, do_work, after));
}

static void work_some(long upto, long flight) {
    n = upto, started = finished = 0, sum = 0;
    for (long i = 0; i < n && i < flight; i++)
        queue_next();
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    if (finished != n || sum != (double)n * ((double)n + 1) / 2 + (double)n)
        abort();
}

int main(int argc, char **argv) {
    double start;

    (void)argc;
    work_some(64, atol(argv[2]));
    start = cpu_seconds();
    work_some(atol(argv[1]), atol(argv[2]));
    report(cpu_seconds() - start, finished);
}

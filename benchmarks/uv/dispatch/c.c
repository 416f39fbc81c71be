/* dispatch FUNCTIONS CALLS: calls of 1000 idle handles, among which so many functions are spread
 * at random. */
#include "measure.h"

#define HANDLES 1000

static uv_idle_t handles[HANDLES];
static long calls, called;
static int last;

static void call(int function) {
    last = function; /* keeps the compiler from making one function of all */
    if (++called == calls)
        for (int i = 0; i < HANDLES; i++)
            uv_idle_stop(&handles[i]);
}

#define ONE(n) static void f##n(uv_idle_t *handle) { (void)handle; call(0x##n); }
#define ROW(r) \
    X(r##0) X(r##1) X(r##2) X(r##3) X(r##4) X(r##5) X(r##6) X(r##7) \
    X(r##8) X(r##9) X(r##a) X(r##b) X(r##c) X(r##d) X(r##e) X(r##f)
#define ALL \
    ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7) \
    ROW(8) ROW(9) ROW(a) ROW(b) ROW(c) ROW(d) ROW(e) ROW(f)

#define X(n) ONE(n)
ALL
#undef X
#define X(n) f##n,
static const uv_idle_cb functions[256] = {ALL};

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    int n = atoi(argv[1]);
    unsigned long seed = 12345;
    double start;

    (void)argc;
    calls = atol(argv[2]);
    for (int i = 0; i < HANDLES; i++) {
        seed = seed * 16807 % 2147483647;
        uv_idle_init(loop, &handles[i]);
        uv_idle_start(&handles[i], functions[seed % (unsigned)n]);
    }
    start = cpu_seconds();
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, called);
    return last < 0;
}

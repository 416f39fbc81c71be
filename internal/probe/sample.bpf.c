//go:build ignore

/*
 * Samples of workers: at each tick of a thread's CPU clock, its registers and stacks go into a ring.
 */
#include "take.h"

SEC("perf_event")
int on_cpu(void *ctx) {
    /* The attachment's cookie has the worker's number, and above it whether the thread is another one
     * than the main thread. */
    u64 cookie = bpf_get_attach_cookie(ctx);

    take(ctx, cookie, cookie >> 32 ? IN_THREAD : 0, ON_CPU, 0);
    return 0;
}

//go:build ignore

/*
 * Samples of workers: at each tick of a CPU clock, the registers and stacks of the thread go into a ring.
 */
#include "take.h"

/* Workers by their main thread. */
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct sampled);
} clocked SEC(".maps");

/* A tick of a processor's clock, which has its period for a cookie. A worker pays for its ticks alone: with a
 * clock of its own, the timer would be set each time that it is put to sleep and woken, which takes a
 * virtual machine a way to its host. */
SEC("perf_event")
int on_clock(void *ctx) {
    struct sampled *sampled = bpf_task_storage_get(&clocked, bpf_get_current_task_btf(), 0, 0);

    if (sampled && sampled->period == bpf_get_attach_cookie(ctx))
        take(ctx, sampled->number, 0, ON_CPU, 0);
    return 0;
}

/* A tick of a thread's own clock, for the few that other threads of a worker take. */
SEC("perf_event")
int on_cpu(void *ctx) {
    /* The attachment's cookie has the worker's number, and above it whether the thread is another one
     * than the main thread. */
    u64 cookie = bpf_get_attach_cookie(ctx);

    take(ctx, cookie, cookie >> 32 ? IN_THREAD : 0, ON_CPU, 0);
    return 0;
}

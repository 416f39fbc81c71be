//go:build ignore

/*
 * How long a worker waits for each lock of shared memory, and how long it holds it: at the entry of nginx's
 * ngx_shmtx_lock, at its return, and at the entry of ngx_shmtx_unlock. A worker is attached to several times; the
 * cookie is the number of the attachment.
 */
#include "bpf.h"
#include "histogram.h"

/* What became of a lock. An end counts where its attachment has seen the beginning. */
struct locked {
    struct spans waits, holds;
    u64 since;  /* when it was taken; 0: it is free */
    u64 cookie; /* of the attachment that saw that */
};

/* By the address of the ngx_shmtx_t. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 4096);
    __type(key, u64);
    __type(value, struct locked);
} locks SEC(".maps");

/* A lock that nobody took: it is too large for a program's own stack. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct locked);
} untouched SEC(".maps");

struct wait {
    u64 address, since, cookie;
};

/* By thread, from entry to return. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4096);
    __type(key, u64);
    __type(value, struct wait);
} waiting SEC(".maps");

/* By these user space tells, often, what it has cost. */
struct taken {
    u64 count;
    u64 shortest; /* ns: of the waits */
    u64 last;     /* when the last one was taken */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct taken);
} takings SEC(".maps");

SEC("kprobe/wants")
int wants(struct pt_regs *ctx) {
    u64 thread = bpf_get_current_pid_tgid();
    struct wait w = {.address = ctx->rdi, .cookie = bpf_get_attach_cookie(ctx)};

    w.since = bpf_ktime_get_ns();
    bpf_map_update_elem(&waiting, &thread, &w, 0);
    return 0;
}

SEC("kprobe/takes")
int takes(struct pt_regs *ctx) {
    u64 now = bpf_ktime_get_ns(), thread = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(ctx);
    struct wait *w = bpf_map_lookup_elem(&waiting, &thread);
    struct taken *taken;
    struct locked *l;
    u32 zero = 0;
    u64 address, ns;

    if (w == 0 || w->cookie != cookie || w->since == 0)
        return 0;
    address = w->address;
    l = bpf_map_lookup_elem(&locks, &address);
    if (l == 0) {
        void *none = bpf_map_lookup_elem(&untouched, &zero);

        if (none == 0)
            return 0;
        bpf_map_update_elem(&locks, &address, none, 0);
        l = bpf_map_lookup_elem(&locks, &address);
        if (l == 0)
            return 0;
    }
    ns = now - w->since;
    count(&l->waits, ns);
    w->since = 0;
    taken = bpf_map_lookup_elem(&takings, &zero);
    if (taken) {
        taken->count++;
        taken->last = now;
        if (taken->shortest == 0 || ns < taken->shortest)
            taken->shortest = ns;
    }
    l->cookie = cookie;
    l->since = bpf_ktime_get_ns();
    return 0;
}

SEC("kprobe/gives")
int gives(struct pt_regs *ctx) {
    u64 now = bpf_ktime_get_ns(), address = ctx->rdi;
    struct locked *l = bpf_map_lookup_elem(&locks, &address);

    if (l == 0 || l->since == 0)
        return 0; /* it was taken unseen, or by trying */
    if (l->cookie == bpf_get_attach_cookie(ctx))
        count(&l->holds, now - l->since);
    l->since = 0;
    return 0;
}

/* Most helpers are for programs under a licence that is compatible with the GPL, as Moonlap's is. */
char licence[] SEC("license") = "Dual MIT/GPL";

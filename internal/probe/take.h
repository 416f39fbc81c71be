/*
 * What every program that samples a thread stands on: the maps that it shares with the others, and how
 * a moment of the thread that runs is put into the ring.
 */
#ifndef MOONLAP_TAKE_H
#define MOONLAP_TAKE_H

#include "bpf.h"

static inline __attribute__((always_inline)) int read_user(void *to, u32 size, u64 address) {
    return bpf_probe_read_user(to, size, (const void *)address);
}

#define loop(times, body, context) bpf_loop(times, (void *)body, context, 0)

#include "walk.h"

#include "returns.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* set by the loader */
    __type(key, u32);
    __type(value, struct worker);
} workers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct counts);
} tallies SEC(".maps");

/* One for each processor: a program's own stack has 512 bytes. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct scratch);
} scratches SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 22);
} ring SEC(".maps");

/* User space looks into the ring now and then anyway; this many bytes wake it before. */
#define WAKE_AT (1 << 18)

/* user_registers are those that the thread had when it entered the kernel, be it for a system call or
 * for the tick itself. */
inlined int user_registers(struct registers *to) {
    struct pt_regs r;

    if (bpf_probe_read_kernel(&r, sizeof r, (const void *)bpf_task_pt_regs(bpf_get_current_task_btf())))
        return -1;
    to->rip = r.rip;
    to->rsp = r.rsp;
    to->rbp = r.rbp;
    to->rbx = r.rbx;
    to->rdx = r.rdx;
    to->r12 = r.r12;
    to->r13 = r.r13;
    to->r14 = r.r14;
    to->r15 = r.r15;
    to->rdi = r.rdi;
    return 0;
}

inlined void keep_kernel(struct scratch *s, void *ctx) {
    u64 at = room(s);
    struct chunk *chunk;
    long size;

    if (at > CHUNKS - sizeof *chunk - KERNEL_MOST)
        return;
    chunk = (struct chunk *)(s->chunks + at);
    size = bpf_get_stack(ctx, chunk + 1, KERNEL_MOST, 0);
    if (size <= 0 || size > KERNEL_MOST)
        return; /* the thread was not in the kernel */
    chunk->address = 0;
    chunk->size = size;
    chunk->what = KERNEL;
    s->moment.bytes = at + sizeof *chunk + size;
}

/* hand_over gives what is in the scratch to user space, and returns 1; 0: it is lost. */
inlined int hand_over(struct scratch *s, struct counts *tally) {
    u64 size = s->moment.bytes, wake = BPF_RB_NO_WAKEUP;

    barrier_var(size);
    if (size > CHUNKS)
        return 0;
    if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > WAKE_AT)
        wake = BPF_RB_FORCE_WAKEUP;
    if (bpf_ringbuf_output(&ring, s, sizeof s->moment + size, wake))
        return __sync_fetch_and_add(&tally->lost, 1), 0;
    return __sync_fetch_and_add(&tally->taken, 1), 1;
}

/* take hands a moment of the thread that runs over to user space, and returns 1; 0: it is lost. ctx is what
 * the program was given. */
inlined int take(void *ctx, u32 number, u16 flags, u16 kind, u64 value) {
    u32 processor = bpf_get_smp_processor_id();
    struct worker *w = bpf_map_lookup_elem(&workers, &number);
    struct counts *tally = bpf_map_lookup_elem(&tallies, &number);
    struct scratch *s = bpf_map_lookup_elem(&scratches, &processor);

    if (w == 0 || tally == 0 || s == 0)
        return 0;
    s->moment.bytes = 0;
    s->moment.kind = kind;
    s->moment.flags = flags;
    s->moment.worker = number;
    s->moment.thread = bpf_get_current_pid_tgid();
    s->moment.time = bpf_ktime_get_ns();
    s->moment.value = value;
    s->moment.unread = 0;
    s->moment.unused = 0;
    if (user_registers(&s->moment.registers))
        return 0;
    walk(s, w);
    keep_returns(s);
    keep_kernel(s, ctx);
    return hand_over(s, tally);
}

/* Most helpers are for programs under a licence that is compatible with the GPL, as Moonlap's is. */
char licence[] SEC("license") = "Dual MIT/GPL";

#endif

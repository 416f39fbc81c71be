//go:build ignore

/*
 * What a worker's Lua allocates: at each call of its allocator, a lua_Alloc, the bytes are counted, and now and then the
 * stack goes into the ring. The cookie of an attachment is the worker's number.
 */
#include "take.h"
#include "alloc.h"

static u32 (*bpf_get_prandom_u32)(void) = (void *)7;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* set by the loader */
    __type(key, u32);
    __type(value, struct window);
} windows SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct heap);
} heaps SEC(".maps");

/* Whether a processor's scratch is in use: this program may have to give way to that of another worker. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u32);
} busy SEC(".maps");

/* look takes a moment at an allocation. In one piece with what calls it, the compiler is short of registers, and the verifier
 * loses track of what it has checked. */
static __attribute__((noinline)) void look(struct pt_regs *ctx, u32 number, u64 value, struct heap *h) {
    u32 processor = bpf_get_smp_processor_id();
    u32 *taken = bpf_map_lookup_elem(&busy, &processor);
    u64 began = bpf_ktime_get_ns();

    if (taken == 0 || __sync_lock_test_and_set(taken, 1)) {
        h->lost++;
        return;
    }
    take(ctx, number, 0, ALLOCATES, value);
    *taken = 0;
    h->looks += bpf_ktime_get_ns() - began;
}

/* Its arguments, in registers: state, block or NULL, old size, new size; 0 frees. */
SEC("kprobe/allocates")
int allocates(struct pt_regs *ctx) {
    u32 number = bpf_get_attach_cookie(ctx);
    struct window *w = bpf_map_lookup_elem(&windows, &number);
    struct heap *h = bpf_map_lookup_elem(&heaps, &number);
    u64 old = ctx->rsi ? ctx->rdx : 0, growth = ctx->rcx - old, mean;

    if (w == 0 || h == 0)
        return 0;
    h->traps++;
    if (w->number == 0 || ctx->rdi != w->state || ctx->rcx <= old || growth > GROWTH_MOST)
        return 0;
    mean = w->mean & 31;
    if (h->window != w->number) {
        h->window = w->number;
        h->left = exponential(bpf_get_prandom_u32(), mean);
    }
    h->bytes += growth;
    if (ctx->rsi == 0)
        h->blocks++;
    if (growth < h->left) {
        h->left -= growth;
        return 0;
    }
    look(ctx, number, growth | (u64)(ctx->rsi != 0) << GREW_AT | mean << MEAN_AT, h);
    h->left = exponential(bpf_get_prandom_u32(), mean);
    return 0;
}

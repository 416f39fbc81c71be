//go:build ignore

/*
 * How long each run of Lua for a request takes, from the entry of a function of nginx's Lua module to its return, and
 * how long a request waits between two: see resume.h.
 */
#include "histogram.h"
#include "resume.h"
#include "take.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* set by the loader */
    __type(key, u32);
    __type(value, struct resumer);
} resumers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 8192);
    __type(key, struct phase);
    __type(value, struct resumed);
} phases SEC(".maps");

/* A phase without runs: it is too large for a program's own stack. And a thread that has entered none. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct resumed);
} unused SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct entries);
} idle SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 32768);
    __type(key, struct served);
    __type(value, struct paused);
} pauses SEC(".maps");

/* What runs, by thread. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 4096);
    __type(key, u64);
    __type(value, struct entries);
} entered SEC(".maps");

/* Whether a processor's scratch is in use: this program may have to give way to that of another worker. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u32);
} busy SEC(".maps");

inlined struct entries *entries_of(u64 thread) {
    struct entries *k = bpf_map_lookup_elem(&entered, &thread);
    u32 zero = 0;

    if (k == 0) {
        void *none = bpf_map_lookup_elem(&idle, &zero);

        if (none == 0)
            return 0;
        bpf_map_update_elem(&entered, &thread, none, 0);
        k = bpf_map_lookup_elem(&entered, &thread);
    }
    return k;
}

/* within is how many of those that run have their return address above an address: the others were left unseen. */
inlined u32 within(const struct entries *k, u64 sp) {
    u32 n = 0, i;

    for (i = 0; i < NESTED_MOST; i++)
        n += i < k->depth && k->at[i].sp > sp;
    return n;
}

/* of_request tells whether there is a coroutine of a request's at an address. */
inlined int of_request(const struct worker *w, u64 coroutine, u64 request) {
    u64 head[2]; /* type and status are in the second half */

    if (coroutine == 0 || read_user(head, sizeof head, coroutine) || (head[1] >> 8 & 0xff) != TYPE_THREAD)
        return 0;
    return word(coroutine + w->global_state) == w->global && request_of(w, coroutine) == request;
}

#define RECORD_POINTERS 8 /* words of the context in which that to the current coroutine's record is */
#define RECORD_WORDS 4    /* of a record, of which one is the coroutine */

/* find_current learns from a context that is about to run where it says which coroutine that will be: the first of its
 * words which points to a record that has a coroutine of the request's. */
static __attribute__((noinline)) int find_current(struct resumer *p, const struct worker *w, u64 lua, u64 request) {
    u32 i, j;

    for (i = 0; i < RECORD_POINTERS; i++) {
        u64 record = word(lua + 8 * i);

        if (record == 0)
            continue;
        for (j = 0; j < RECORD_WORDS; j++) {
            if (of_request(w, word(record + 8 * j), request)) {
                p->coroutine = 8 * j;
                p->current = 8 * i;
                return 1;
            }
        }
    }
    return 0;
}

#define FRAME_CONTINUES 2
#define FUNCTION_PC 0x20 /* of a Lua function: its first instruction */

/* queued is how long the thread has waited for a processor until now. */
inlined u64 queued(void) {
    struct task_struct *task = bpf_get_current_task_btf();

    return has(task_struct, sched_info.run_delay) ? follow(task, sched_info.run_delay) : 0;
}

/* goes_on reads in which line of Lua a coroutine goes on: where it called the C function that has yielded. */
inlined void goes_on(struct entry *e, const struct worker *w, u64 coroutine) {
    u64 base = word(coroutine + w->base), link = word(base - 8), at = link;
    u32 call = 0;

    if (base == 0)
        return;
    if ((link & FRAME_LUA_BITS) == 0) {
        if (read_user(&call, sizeof call, link - 4))
            return;
        base -= 8 * (2 + (call >> 8 & 0xff));
    } else if ((link & FRAME_TYPES) == FRAME_CONTINUES) { /* compiled code has called it, and been left for that */
        at = word(base - 24);
        base -= link & ~(u64)FRAME_TYPES & 0xffffffff;
    } else {
        return;
    }
    e->code = word((word(base - 16) & POINTER_MASK) + FUNCTION_PC);
    e->at = at;
}

#define STATUS_SHIFT 24 /* of the byte at 0x0b in the second word of a lua_State */

/* thread reads of ngx_http_lua_run_thread's arguments which phase it is, and whether it begins. */
inlined void thread(struct entry *e, struct resumer *p, const struct worker *w, u64 lua) {
    u64 coroutine, head;

    e->context = w->phase ? word(lua + w->phase) & p->mask : 0;
    if (p->current == 0 && !find_current(p, w, lua, e->request))
        return;
    coroutine = word(word(lua + p->current) + p->coroutine);
    head = word(coroutine + 8);
    if ((head >> 8 & 0xff) != TYPE_THREAD)
        return;
    if (head >> STATUS_SHIFT & 0xff) { /* it has yielded */
        goes_on(e, w, coroutine);
        return;
    }
    e->fresh = 1;
    e->code = word((word(word(coroutine + w->base)) & POINTER_MASK) + FUNCTION_PC);
}

SEC("kprobe/enters")
int enters(struct pt_regs *ctx) {
    u64 now = bpf_ktime_get_ns(), cookie = bpf_get_attach_cookie(ctx), who = bpf_get_current_pid_tgid(), depth;
    u32 number = cookie & COOKIE_NUMBER, arguments = cookie >> COOKIE_ARGUMENTS & 0xff;
    struct resumer *p = bpf_map_lookup_elem(&resumers, &number);
    struct worker *w = bpf_map_lookup_elem(&workers, &number);
    struct entries *k = entries_of(who);
    u64 rdi = ctx->rdi, rsi = ctx->rsi, rsp = ctx->rsp;
    struct entry *e;

    barrier_var(rdi); /* else the compiler chooses between places in ctx, which the verifier forbids */
    barrier_var(rsi);
    if (p == 0 || k == 0)
        return 0;
    p->traps++;
    depth = within(k, rsp);
    if (depth >= NESTED_MOST) {
        p->lost++;
        return 0;
    }
    e = &k->at[depth];
    e->sp = rsp;
    e->entered = now;
    e->nested = 0;
    e->cookie = cookie;
    e->queued = queued();
    e->code = 0;
    e->at = 0;
    e->request = arguments == OF_HANDLER ? rdi : rsi;
    if ((u32)word(e->request) != REQUEST_SIGNATURE)
        e->request = 0;
    e->fresh = 0;
    if (arguments == OF_THREAD) {
        if (w)
            thread(e, p, w, ctx->rdx);
    } else {
        e->context = 1U << (cookie >> COOKIE_PHASE & 31);
        e->fresh = 1;
        if (w && arguments == OF_CHUNK)
            e->code = word((word(word(rdi + w->top) - 8) & POINTER_MASK) + FUNCTION_PC);
    }
    k->depth = depth + 1;
    e->since = bpf_ktime_get_ns();
    if (arguments == OF_THREAD && !e->fresh && e->request) {
        struct served key = {.worker = number, .request = e->request};
        struct paused *paused = bpf_map_lookup_elem(&pauses, &key);
        struct phase phase = {.worker = number, .context = e->context};
        struct resumed *r = bpf_map_lookup_elem(&phases, &phase);

        if (r && paused && paused->cookie == cookie && paused->context == e->context)
            count(&r->waits, now - paused->since);
        e->since = bpf_ktime_get_ns();
    }
    return 0;
}

/* This and the next function are the verifier's own: it would look at them again for each way that leads to them. */

/* tell hands a run that took long to user space, with the stack of the coroutine that waits now. */
__attribute__((noinline)) int tell(u32 number, const struct run *run) {
    u32 processor = bpf_get_smp_processor_id(), *taken = bpf_map_lookup_elem(&busy, &processor);
    struct worker *w = bpf_map_lookup_elem(&workers, &number);
    struct counts *tally = bpf_map_lookup_elem(&tallies, &number);
    struct scratch *s = bpf_map_lookup_elem(&scratches, &processor);
    struct walk k = {.s = s, .w = w};
    struct chunk *chunk;
    int told;

    if (run == 0 || w == 0 || tally == 0 || s == 0 || taken == 0 || __sync_lock_test_and_set(taken, 1))
        return 0;
    s->moment.kind = RAN;
    s->moment.flags = 0;
    s->moment.worker = number;
    s->moment.thread = bpf_get_current_pid_tgid();
    s->moment.time = bpf_ktime_get_ns();
    s->moment.value = run->own;
    s->moment.unread = 0;
    s->moment.unused = 0;
    chunk = (struct chunk *)s->chunks;
    chunk->address = 0;
    chunk->size = sizeof *run;
    chunk->what = OWN;
    *(struct run *)(chunk + 1) = *run;
    s->moment.bytes = sizeof *chunk + sizeof *run;
    keep_request(s, w, run->request);
    if (run->flags & PAUSES) {
        k.global = w->global;
        k.coroutine = word(w->global + w->current); /* it ran last */
        k.cframe = word(k.coroutine + w->cframe) & ~3ULL; /* none; but of a constant the verifier follows all changes */
        if (k.coroutine && request_of(w, k.coroutine) == run->request && begin(&k, 0) == 0)
            loop(FRAMES_MOST, step, &k);
    }
    told = hand_over(s, tally);
    *taken = 0;
    return told;
}

/* rare tells whether a time is among the longest that there were. */
inlined int rare(struct resumer *p, u64 ns) {
    u64 least = ~0ULL;
    u32 at = 0, i;

    for (i = 0; i < sizeof p->longest / sizeof p->longest[0]; i++) {
        if (p->longest[i] < least) {
            least = p->longest[i];
            at = i;
        }
    }
    if (ns <= least)
        return 0;
    p->longest[at & 7] = ns;
    return 1;
}

/* sum counts a run that has ended, and tells of it if it took long. */
__attribute__((noinline)) int sum(u32 number, const struct run *run) {
    struct resumer *p = bpf_map_lookup_elem(&resumers, &number);
    struct phase key = {.worker = number};
    struct resumed *r;
    u64 before;
    u32 zero = 0;

    if (run == 0 || p == 0)
        return 0;
    key.context = run->context;
    r = bpf_map_lookup_elem(&phases, &key);
    if (r == 0) {
        void *none = bpf_map_lookup_elem(&unused, &zero);

        if (none == 0)
            return 0;
        bpf_map_update_elem(&phases, &key, none, 0);
        r = bpf_map_lookup_elem(&phases, &key);
        if (r == 0)
            return 0;
    }
    count(&r->own, run->own);
    count(&r->whole, run->whole);
    r->fresh += run->flags & BEGINS;
    r->queued += run->queued;
    if (!rare(p, run->own - run->queued)) /* a thread that waits for a processor is not its Lua's fault */
        return 0;
    before = bpf_ktime_get_ns();
    if (!tell(number, run))
        p->lost++;
    p->looks += bpf_ktime_get_ns() - before;
    return 0;
}

/* pause notes that a request waits from now on. It is apart from leaves because that calls others, four deep, which have 512 bytes of
 * stack together. */
__attribute__((noinline)) int pause(u32 number, u64 request, u64 now, u64 cookie, u32 context) {
    struct served key = {.worker = number, .request = request};
    struct paused paused = {.since = now, .cookie = cookie, .context = context};

    return bpf_map_update_elem(&pauses, &key, &paused, 0);
}

SEC("kprobe/leaves")
int leaves(struct pt_regs *ctx) {
    u64 now = bpf_ktime_get_ns(), cookie = bpf_get_attach_cookie(ctx), who = bpf_get_current_pid_tgid(), depth, inner, waited;
    u32 number = cookie & COOKIE_NUMBER;
    struct resumer *p = bpf_map_lookup_elem(&resumers, &number);
    struct entries *k = bpf_map_lookup_elem(&entered, &who);
    u64 sp = ctx->rsp - 8; /* the return address has been taken off */
    struct run run = {};
    struct entry *e;

    if (p == 0)
        return 0;
    p->traps++;
    if (k == 0)
        return 0;
    depth = within(k, sp - 1);
    k->depth = depth;
    inner = depth - 1;
    if (inner >= NESTED_MOST)
        return 0;
    e = &k->at[inner];
    if (e->sp != sp)
        return 0; /* it was entered unseen */
    k->depth = inner;
    if (e->cookie != cookie)
        return 0;
    run.since = e->since;
    run.whole = now - e->since;
    run.own = run.whole - e->nested;
    run.request = e->request;
    waited = queued() - e->queued;
    run.queued = waited;
    run.code = e->code;
    run.at = e->at;
    run.context = e->context;
    run.flags = e->fresh ? BEGINS : 0;
    if ((cookie >> COOKIE_ARGUMENTS & 0xff) == OF_THREAD && ctx->rax == AGAIN && e->request) {
        pause(number, e->request, now, cookie, e->context);
        run.flags |= PAUSES;
    }
    sum(number, &run);
    if (inner > 0 && inner - 1 < NESTED_MOST) {
        k->at[inner - 1].nested += bpf_ktime_get_ns() - e->entered;
        k->at[inner - 1].queued += waited;
    }
    return 0;
}

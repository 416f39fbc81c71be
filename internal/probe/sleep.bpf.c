//go:build ignore

/*
 * When workers do not run, and why: each time that a worker's main thread is put to sleep by anything
 * but its wait for events, its stacks go into the ring, and how long it was away when it is back. And
 * turns of the event loop, from one wait for events to the next.
 */
#include "histogram.h"
#include "take.h"

/* From the kernel's include/linux/sched.h. */
#define TASK_STOPPED_OR_TRACED 0x0c
#define TASK_ENDED 0xb0 /* dead, a zombie */

/* Numbers of system calls that wait for events: epoll_wait, epoll_pwait, epoll_pwait2. */
#define waits_for_events(call) ((call) == 232 || (call) == 281 || (call) == 441)

/* The worker's number, at its main thread. */
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, u32);
} threads SEC(".maps");

/* The same by the address of its task: where another thread runs, that is all that tells it. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1); /* set by the loader */
    __type(key, u64);
    __type(value, u32);
} tasks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct state);
} states SEC(".maps");

struct arguments {
    u64 at[4];
};

/* A note is a moment without stacks. */
struct note {
    struct moment moment;
    struct chunk chunk;
    struct times times;
};

inlined void tell(u32 number, u16 kind, u64 now, u64 value, struct times times) {
    struct counts *tally = bpf_map_lookup_elem(&tallies, &number);
    struct note n = {
        .moment = {
            .bytes = sizeof n - sizeof n.moment, .kind = kind, .worker = number, .time = now, .value = value,
        },
        .chunk = {.size = sizeof n.times, .what = TIMES},
        .times = times,
    };

    if (bpf_ringbuf_output(&ring, &n, sizeof n, BPF_RB_NO_WAKEUP) && tally)
        __sync_fetch_and_add(&tally->lost, 1);
}

/* lua tells whether Lua is on the stack of the worker that runs. */
inlined int lua(const struct worker *w) {
    u64 running = word(w->global + w->current);

    return running != 0 && (word(running + w->cframe) & ~3ULL) != 0;
}

/* system_call is the number of the one that the thread is in; -1: none, say a page fault. */
inlined s32 system_call(void) {
    const struct pt_regs *r = (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
    s32 call = -1;

    bpf_probe_read_kernel(&call, sizeof call, &r->orig_rax);
    return call;
}

/* rare tells whether the worker falls asleep seldom enough for its stacks to be looked at each time. */
inlined int rare(struct state *s, u64 now) {
    if (now - s->window > SECOND) {
        s->window = now;
        s->taken = 0;
    }
    return s->taken++ < SLEEPS_MOST;
}

/* passed counts the time until the thread is switched out. It ran, but for the first time: then user space said
 * where it was, and the switch in went unseen. */
inlined void passed(u32 number, struct state *s, u64 now) {
    u64 time = now - s->since;

    switch (s->away) {
    case RUNS:
        s->computed += time;
        break;
    case IDLE:
        s->idle += time;
        break;
    default:
        s->slept += time;
        tell(number, BACK, now, time, (struct times){.blocked = time});
    }
}

/* leaves: the thread that runs, a worker's, is switched out. */
inlined void leaves(struct arguments *ctx, u32 number, struct state *s) {
    u64 now = bpf_ktime_get_ns();
    struct worker *w = bpf_map_lookup_elem(&workers, &number);
    u64 why = (u32)ctx->at[3];
    s32 call;

    passed(number, s, now);
    s->since = now;
    s->woken = 0;
    if (s->task == 0) {
        s->task = ctx->at[1];
        bpf_map_update_elem(&tasks, &s->task, &number, 0);
    }
    if ((ctx->at[0] & 1) || why == 0) { /* preempted: it would go on */
        s->woken = now;
        s->away = QUEUED;
        return;
    }
    if (why & TASK_ENDED) {
        bpf_map_delete_elem(&tasks, &s->task);
        s->away = RUNS;
        return;
    }
    call = system_call();
    if (why & TASK_STOPPED_OR_TRACED)
        s->away = HALTED;
    else if (w == 0 || (waits_for_events(call) && !lua(w)))
        s->away = IDLE;
    else if (rare(s, now) && take(ctx, number, 0, BLOCKED, (u32)call | why << 32))
        s->away = SLEEPS;
    else
        s->away = UNSEEN;
}

/* comes: a worker's main thread is switched in. */
inlined void comes(u32 number, struct state *s) {
    u64 now = bpf_ktime_get_ns(), all = now - s->since, slept = s->woken ? s->woken - s->since : all;
    struct times times = {.blocked = slept, .queued = all - slept};
    u32 away = s->away;

    s->away = RUNS;
    s->since = now;
    if (away == RUNS)
        return;
    s->queued += times.queued;
    switch (away) {
    case QUEUED:
        s->turn_times.queued += times.queued;
        return;
    case HALTED:
        s->halted += slept;
        return;
    case IDLE:
        s->idle += slept;
        return;
    case UNSEEN:
        s->unseen++;
        s->unseen_for += slept;
    }
    s->sleeps++;
    s->slept += slept;
    s->turn_times.blocked += slept;
    s->turn_times.queued += times.queued;
    if (away == SLEEPS)
        tell(number, BACK, now, all, times);
}

SEC("raw_tracepoint/sched_switch")
int switched(struct arguments *ctx) {
    u32 *number = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
    struct state *s;
    u64 next;

    if (number) {
        u32 n = *number;

        s = bpf_map_lookup_elem(&states, &n);
        if (s)
            leaves(ctx, n, s);
    }
    next = ctx->at[2];
    number = bpf_map_lookup_elem(&tasks, &next);
    if (number) {
        u32 n = *number;

        s = bpf_map_lookup_elem(&states, &n);
        if (s)
            comes(n, s);
    }
    return 0;
}

SEC("raw_tracepoint/sched_wakeup")
int woken(struct arguments *ctx) {
    u64 task = ctx->at[0];
    u32 *number = bpf_map_lookup_elem(&tasks, &task);
    struct state *s;

    if (number == 0)
        return 0;
    s = bpf_map_lookup_elem(&states, number);
    if (s && s->woken == 0)
        s->woken = bpf_ktime_get_ns();
    return 0;
}

/* mine is the state of the worker whose main thread runs, when it is about to wait for events, or has. */
inlined struct state *mine(u32 *number) {
    u32 *known = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
    struct worker *w;

    if (known == 0)
        return 0;
    *number = *known;
    w = bpf_map_lookup_elem(&workers, number);
    if (w == 0 || lua(w))
        return 0; /* Lua has an event loop of its own */
    return bpf_map_lookup_elem(&states, number);
}

SEC("raw_tracepoint/sys_enter")
int calls(struct arguments *ctx) {
    u64 call = ctx->at[1], now, length;
    struct state *s;
    u32 number, at;

    if (!waits_for_events(call))
        return 0;
    s = mine(&number);
    if (s == 0 || s->turn == 0)
        return 0;
    now = bpf_ktime_get_ns();
    length = now - s->turn;
    s->turn = 0;
    at = bucket(length);
    barrier_var(at);
    if (at < TURN_BUCKETS)
        s->turns[at]++;
    if (length > s->longest)
        s->longest = length;
    if (length >= s->long_turn)
        tell(number, TURN, now, length, s->turn_times);
    return 0;
}

SEC("raw_tracepoint/sys_exit")
int returns(struct arguments *ctx) {
    const struct pt_regs *r = (const struct pt_regs *)ctx->at[0];
    struct state *s;
    u64 call = 0;
    u32 number;

    bpf_probe_read_kernel(&call, sizeof call, &r->orig_rax);
    if (!waits_for_events(call))
        return 0;
    s = mine(&number);
    if (s == 0)
        return 0;
    s->turn_times = (struct times){.events = (s32)ctx->at[1] > 0 ? ctx->at[1] : 0};
    s->turn = bpf_ktime_get_ns();
    return 0;
}

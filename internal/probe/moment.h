/*
 * A moment of a worker, as the kernel hands it to user space: registers, and the memory that a walk of
 * the stacks will want, copied while the worker could not change it. User space walks this copy with
 * the code that walks a stopped worker.
 */
#ifndef MOONLAP_MOMENT_H
#define MOONLAP_MOMENT_H

/* No header of the system, so that the same object comes out everywhere. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#define inlined static inline __attribute__((always_inline))

/* The compiler knows nothing of the value any more: the check that follows it stays for the verifier. */
#ifdef __bpf__
#define barrier_var(x) asm volatile("" : "+r"(x))
#else
#define barrier_var(x)
#endif

/* What a worker's memory looks like: addresses in it, and the layout that internal/luajit calibrated. */
struct worker {
    u64 global;           /* global_State */
    u64 asm_from, asm_to; /* the interpreter's code */
    u64 stack_end;        /* of the main thread's stack, where the program starts */
    u64 clock;            /* ngx_current_msec */
    u64 vm_state, current, jit_base; /* offsets in global_State */
    u64 global_state, base, top, stack, cframe; /* offsets in lua_State */
    u64 request;          /* offset of nginx's request in lua_State; 0: none */
    u64 uri;              /* offset of uri in the request; 0: not known yet */
    u64 context;          /* offset of the Lua module's context among those of the request */
    u64 phase;            /* offset of the phase in it; 0: not known */
    u64 other;            /* another global_State, of the same layout; 0: there is none */
    u64 exit;             /* of J.parent and J.exitno behind global_State; 0: not known yet */
    u64 traces;           /* of J.trace and its size behind global_State */
};

/* A worker's number, and the period in ns of the clock that it is sampled by. */
struct sampled {
    u64 period;
    u64 number;
};

/* What became of a worker's ticks. */
struct counts {
    u64 taken; /* handed over */
    u64 lost;  /* user space did not take them out of the ring in time */
};

enum kind {
    ON_CPU = 1,  /* a tick of the worker's CPU clock */
    BLOCKED = 2, /* it is put to sleep; value: the system call, and above it the kernel's state of the task */
    BACK = 3,    /* it runs again after that; value: ns that it was away */
    TURN = 4,    /* a long turn of the event loop has ended; value: its ns */
    /* from 16 on: those of kinds of evidence */
};

/* The registers that walking stacks needs; and rdi, a function's first argument. */
struct registers {
    u64 rip, rsp, rbp, rbx, rdx, r12, r13, r14, r15, rdi;
};

/* Flags of a moment. */
#define IN_THREAD 1 /* of another thread than the main one: no Lua */
#define CUT 2       /* the stack or the Lua frames did not all find room */

struct moment {
    u32 bytes;  /* of the chunks behind it */
    u16 kind;
    u16 flags;
    u32 worker; /* its number in the map of workers */
    u32 thread;
    u64 time;   /* ns, CLOCK_MONOTONIC */
    u64 value;  /* of a kind: how long, how many */
    u32 unread; /* reads that failed: the memory is paged out, or an address is garbage */
    u32 unused;
    struct registers registers;
};

enum what {
    MEMORY = 0,
    STACK = 1,     /* of the machine, from its pointer on */
    COROUTINE = 2, /* a lua_State; its frames follow */
    FRAME = 3,     /* three slots of a Lua stack: continuation, function, link */
    KERNEL = 4,    /* return addresses in the kernel, innermost first */
    TIMES = 5,     /* struct times */
    RETURNS = 16,  /* see returns.h */
    OWN = 17,      /* what else a kind of evidence has to say */
};

/* A chunk is so many bytes of memory; they follow, and after them, at a multiple of 8, the next one. */
struct chunk {
    u64 address;
    u32 size;
    u32 what;
};

#define STACK_PAGES 8
#define STACK_MOST (STACK_PAGES * 4096)
#define KERNEL_MOST (64 * 8)
#define TEXT_MOST 2048 /* of a URI; the same as in internal/nginx/ngxlua */
#define FRAMES_MOST 256
#define CHUNKS 0x10000 /* bytes */

/* What became of a time, in ns. */
struct times {
    u64 blocked; /* it slept, until it was woken */
    u64 queued;  /* it would have run, but other threads did */
    u64 events;  /* of a turn: how many events it served */
};

#define SECOND 1000000000ULL
#define SLEEPS_MOST 2000 /* stacks of sleeping that are looked at in a second of one worker */

/* Turns of the event loop by their length: 16 buckets for each power of two from 2^10 ns on, and one below. */
#define TURN_LOWEST 10
#define TURN_BUCKETS (1 + 16 * 28)

/* Where a worker's main thread is. */
enum away {
    RUNS = 0,
    IDLE = 1,   /* waits for events */
    SLEEPS = 2, /* for something else; BLOCKED was told */
    UNSEEN = 3, /* the same, not told */
    QUEUED = 4, /* preempted */
    HALTED = 5, /* by a signal, or by who traces it */
};

/* What a worker's main thread does: user space sets long_turn and where it is to begin with, and reads the sums. */
struct state {
    u64 long_turn; /* ns; turns at least so long are told */
    u64 task;      /* address of its task_struct, once it is known */
    u64 since;     /* when it was switched in or out the last time */
    u64 woken;     /* when it was woken after that; 0: not yet */
    u32 away, taken;
    u64 window; /* when `taken` began to be counted */
    u64 turn;   /* when the turn of the event loop began; 0: none is running */
    struct times turn_times;
    u64 computed, idle, queued, halted; /* ns, all of them */
    u64 sleeps, slept;                  /* how often, ns */
    u64 unseen, unseen_for;             /* of these, those that were not told */
    u64 longest;                        /* turn, in ns */
    u32 turns[TURN_BUCKETS], unused;
};

/* Times in ns. */
struct spans {
    u64 sum, least, longest;
    u64 counts[TURN_BUCKETS];
};

struct scratch {
    struct moment moment;
    u8 chunks[CHUNKS];
};

#endif

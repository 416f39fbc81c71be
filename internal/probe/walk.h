/*
 * Which memory a walk of the stacks will want. This is compiled twice: for the kernel, and as plain C
 * for tests that replay it on saved memory. Whoever includes it defines
 *
 *     int read_user(void *to, u32 size, u64 address)
 *     loop(times, long (*body)(u32 i, void *context), context)
 *
 * read_user copies memory of the worker and returns 0, or another number where it cannot; loop calls
 * body until it returns 1. Every loop is bounded, so that a corrupt heap ends a walk and nothing else.
 *
 * It goes the way of internal/luajit's Stack, but names nothing and decides nothing: a function that
 * it keeps is known by its prototype, which lives on when the closure is collected.
 */
#include "moment.h"

/* Offsets that never changed, and values, as in internal/luajit/layout.go. */
#define OBJECT_TYPE 9
#define TYPE_THREAD 6
#define TYPE_FUNCTION 8
#define POINTER_MASK ((1ULL << 47) - 1)
#define COROUTINE_SIZE 0x70
#define FUNCTION_KEPT 8 /* type, ID, and the bytecode or C function, are the 40 bytes from here on */
#define FRAME_LUA_BITS 3
#define FRAME_VARARG 3
#define FRAME_TYPES 7
#define STACK_SIZE_MOST (1 << 20)
#define BASE_REACH (8 * 256)
#define CFRAME_SIZE 0x50
#define CFRAME_SAVED 16 /* below it, registers that traces save */
#define CFRAME_L 0x10
#define CFRAME_PC 0x18
#define CFRAME_RETURN 0x48
#define GC_TOTAL 0x10
#define STATE_INTERPRETED (~0)
#define STATE_EXIT (~3)
#define TRACES_COUNT 1 /* sizetrace: in the word behind the array's address, its upper half */
#define TRACE_HEAD 0x70 /* of a GCtrace: what tells it from others */

#define REQUEST_SIGNATURE 0x50545448 /* "HTTP" */
#define REQUEST_CONTEXTS 0x10        /* ctx: pointers to the contexts of modules */
#define REQUEST_HEAD 0x18
#define TEXT_SIZE 16                 /* ngx_str_t: length, pointer */
#define METHOD_AFTER_URI (4 * TEXT_SIZE)
#define REQUEST_TEXTS (6 * TEXT_SIZE)
#define METHOD_MOST 32

inlined u64 word(u64 address) {
    u64 value = 0;

    return read_user(&value, sizeof value, address) ? 0 : value;
}

/* room is where the next chunk goes. The check that follows is of this value: before Linux 6.13 the verifier does not know that
 * another register, from which the compiler would rather compute the address, is a constant away from what was checked. */
inlined u64 room(const struct scratch *s) {
    u64 at = s->moment.bytes;

    barrier_var(at);
    return at;
}

/* keep copies memory of a constant size, a multiple of 8, and returns the copy, or NULL. */
inlined void *keep(struct scratch *s, u32 what, u64 address, u32 size) {
    u64 at = room(s);
    struct chunk *chunk;

    if (at > CHUNKS - sizeof *chunk - size) {
        s->moment.flags |= CUT;
        return 0;
    }
    chunk = (struct chunk *)(s->chunks + at);
    if (read_user(chunk + 1, size, address)) {
        s->moment.unread++;
        return 0;
    }
    chunk->address = address;
    chunk->size = size;
    chunk->what = what;
    s->moment.bytes = at + sizeof *chunk + size;
    return chunk + 1;
}

/* keep_text copies the text of an ngx_str_t, if it is none that is longer than most. */
inlined void keep_text(struct scratch *s, const u64 *text, u32 most) {
    u64 size = text[0], at = room(s);
    struct chunk *chunk;

    if (size == 0 || size > most || at > CHUNKS - sizeof *chunk - TEXT_MOST)
        return;
    barrier_var(size);
    if (size > TEXT_MOST)
        return;
    chunk = (struct chunk *)(s->chunks + at);
    if (read_user(chunk + 1, size, text[1])) {
        s->moment.unread++;
        return;
    }
    chunk->address = text[1];
    chunk->size = size;
    chunk->what = MEMORY;
    s->moment.bytes = at + sizeof *chunk + (((u32)size + 7) & ~7U);
}

/* keep_stack copies the machine stack from its pointer to its end, page by page: the end may not be
 * known. It has to be the first thing that is kept. */
inlined void keep_stack(struct scratch *s, u64 from, u64 end) {
    struct chunk *chunk = (struct chunk *)s->chunks;
    u64 have = 0;
    int i;

    from &= ~7ULL;
    for (i = 0; i < STACK_PAGES && from + have < end; i++) {
        u64 left = end - from - have;
        u64 size = 4096 - ((from + have) & 4095);

        if (left < size)
            size = left;
        barrier_var(size);
        if (size > 4096 || have > STACK_MOST - 4096 || read_user((u8 *)(chunk + 1) + have, size, from + have))
            break;
        have += size;
    }
    if (from + have < end)
        s->moment.flags |= CUT;
    chunk->address = from;
    chunk->size = have;
    chunk->what = STACK;
    s->moment.bytes = sizeof *chunk + (((u32)have + 7) & ~7U);
}

/* keep_request copies what tells which request nginx serves, and in which phase. */
inlined void keep_request(struct scratch *s, const struct worker *w, u64 request) {
    u64 *head, *context, *texts;

    if (request == 0)
        return;
    head = keep(s, MEMORY, request, REQUEST_HEAD);
    if (head == 0 || (u32)*head != REQUEST_SIGNATURE)
        return;
    if (w->phase) {
        context = keep(s, MEMORY, head[REQUEST_CONTEXTS / 8] + w->context, 8);
        if (context)
            keep(s, MEMORY, *context + w->phase, 8);
    }
    if (w->uri == 0)
        return;
    texts = keep(s, MEMORY, request + w->uri, REQUEST_TEXTS);
    if (texts == 0)
        return;
    keep_text(s, texts, TEXT_MOST);
    keep_text(s, texts + METHOD_AFTER_URI / 8, METHOD_MOST);
}

/* request_of is the request that a coroutine runs for; 0: none. */
inlined u64 request_of(const struct worker *w, u64 coroutine) {
    return w->request ? word(coroutine + w->request) : 0;
}

/* A walk is where a walk of Lua frames has come to. */
struct walk {
    struct scratch *s;
    const struct worker *w;
    u64 base;   /* jit_base: of the trace that runs; 0: none does */
    u64 second; /* base to begin again from, if this walk comes to nothing; 0: none */
    u64 global; /* the machine, a global_State */
    u64 coroutine;
    u64 at;     /* slot of the frame's link; the function is in the one below */
    u64 bottom; /* of the coroutine's stack */
    u64 cframe; /* the interpreter's C frame that runs the coroutine */
};

/* begin takes up a coroutine, from its innermost function's base on. */
inlined int begin(struct walk *k, u64 base) {
    u8 *l = keep(k->s, COROUTINE, k->coroutine, COROUTINE_SIZE);

    if (l == 0 || l[OBJECT_TYPE] != TYPE_THREAD || word(k->coroutine + k->w->global_state) != k->global)
        return -1;
    k->bottom = word(k->coroutine + k->w->stack) + 8;
    if (base == 0)
        base = word(k->coroutine + k->w->base);
    k->at = base - 8;
    return base == 0 || base > k->bottom + STACK_SIZE_MOST || (base & 7) ? -1 : 0;
}

/* frame keeps a frame and goes on to the one that called it. */
inlined int frame(struct walk *k) {
    u64 *slots = keep(k->s, FRAME, k->at - 16, 24);
    u64 before = k->at, function, link;

    if (slots == 0)
        return -1;
    function = slots[1] & POINTER_MASK;
    link = slots[2];
    if ((link & FRAME_TYPES) != FRAME_VARARG && function != k->coroutine) {
        u8 *kept = keep(k->s, MEMORY, function + FUNCTION_KEPT, 40);

        if (kept == 0 || kept[OBJECT_TYPE - FUNCTION_KEPT] != TYPE_FUNCTION)
            return -1;
    }
    if ((link & FRAME_LUA_BITS) == 0) { /* the call's operand A is the distance of the bases */
        u32 call;

        if (read_user(&call, sizeof call, link - 4))
            return -1;
        k->at -= 8 * (2 + (call >> 8 & 0xff));
    } else {
        k->at -= link & ~(u64)FRAME_TYPES & 0xffffffff;
    }
    return k->at < before ? 0 : -1;
}

/* resumer goes on to the coroutine that resumed this one: its C frame lies right below. */
inlined int resumer(struct walk *k) {
    u64 back = word(k->cframe + CFRAME_RETURN);

    if (back < k->w->asm_from || back >= k->w->asm_to)
        return -1;
    k->cframe += CFRAME_SIZE;
    k->coroutine = word(k->cframe + CFRAME_L);
    return begin(k, 0);
}

/* step is the body of the loop over all frames. */
static long step(u32 i, void *context) {
    struct walk *k = context;
    int failed;

    if (k->at <= k->bottom) {
        k->second = 0;
        failed = resumer(k);
    } else {
        failed = frame(k);
    }
    if (failed && k->second) {
        k->at = k->second - 8;
        k->second = 0;
        failed = 0;
    }
    if (i == FRAMES_MOST - 1 && !failed)
        k->s->moment.flags |= CUT;
    return failed ? 1 : 0;
}

/* runs_interpreter tells that BASE is in rdx, as it is while the interpreter runs, but for its entry; also when
 * it has just taken over from a trace. */
static __attribute__((noinline)) int runs_interpreter(struct walk *k, s32 state) {
    const struct registers *r = &k->s->moment.registers;

    if (r->rip < k->w->asm_from || r->rip >= k->w->asm_to)
        return 0;
    if (k->base ? r->rsp < k->cframe - CFRAME_SAVED : state != STATE_INTERPRETED)
        return 0;
    return r->rdx > word(k->coroutine + k->w->stack) && r->rdx <= word(k->coroutine + k->w->top) + BASE_REACH;
}

/* machine is the one that runs Lua: of two, which never run inside one another, the other one only where it does. */
inlined u64 machine(const struct worker *w) {
    u64 coroutine = w->other ? word(w->other + w->current) : 0;

    return coroutine && word(coroutine + w->cframe) & ~3ULL ? w->other : w->global;
}

#define FAR_BLOCK 512
#define FAR_BLOCKS 24
#define FAR_BELOW 4096 /* what Lua called: a trace's spill slots, and the C functions that it went through */

/* A far is a part of the machine stack that is copied block by block. */
struct far {
    struct scratch *s;
    u64 at, end;
};

static long far_block(u32 i, void *context) {
    struct far *f = context;

    (void)i;
    if (f->at >= f->end || keep(f->s, MEMORY, f->at, FAR_BLOCK) == 0)
        return 1;
    f->at += FAR_BLOCK;
    return 0;
}

/* keep_far copies the machine stack around the interpreter's C frame, and what is outside of it, where what
 * Lua called takes so much of the stack that its copy does not reach there: machine code of PCRE's takes 32 kB. */
inlined void keep_far(struct scratch *s, const struct worker *w, u64 cframe) {
    const struct chunk *stack = (struct chunk *)s->chunks;
    u64 copied = stack->address + stack->size;
    struct far f = {.s = s, .at = (cframe - FAR_BELOW) & ~7ULL, .end = w->stack_end};

    if (!(s->moment.flags & CUT) || copied > cframe + CFRAME_SIZE || cframe < stack->address)
        return;
    if (f.at < copied)
        f.at = copied;
    loop(FAR_BLOCKS, far_block, &f);
}

/* keep_trace copies where the running trace lies, and its head: when user space reads the rest of it, another one may be there. */
inlined void keep_trace(struct scratch *s, const struct worker *w, u64 global, s32 number) {
    u64 *array, *entry;

    if (number <= 0)
        return;
    array = keep(s, MEMORY, global + w->traces, 16);
    if (array == 0 || (u32)number >= array[TRACES_COUNT] >> 32)
        return;
    entry = keep(s, MEMORY, array[0] + 8 * (u64)(u32)number, 8);
    if (entry && *entry & POINTER_MASK)
        keep(s, MEMORY, *entry & POINTER_MASK, TRACE_HEAD);
}

/* keep_lua copies what the frames of the running coroutine, and of those that resumed it, consist of. */
inlined void keep_lua(struct scratch *s, const struct worker *w) {
    struct walk k = {.s = s, .w = w, .global = machine(w)};
    u64 *running, *state, base;

    keep(s, MEMORY, k.global + GC_TOTAL, 8);
    state = keep(s, MEMORY, k.global + w->vm_state, 8);
    running = keep(s, MEMORY, k.global + w->current, 16); /* cur_L, and next to it jit_base */
    if (state == 0 || running == 0 || running[0] == 0)
        return;
    if (w->exit && (s32)*state == STATE_EXIT)
        keep(s, MEMORY, k.global + w->exit, 8);
    k.coroutine = running[0];
    k.cframe = word(k.coroutine + w->cframe) & ~3ULL;
    base = running[1];
    if (k.cframe == 0) {
        keep(s, COROUTINE, k.coroutine, COROUTINE_SIZE);
        return;
    }
    keep_far(s, w, k.cframe);
    if (base)
        keep_trace(s, w, k.global, (s32)*state);
    k.base = base;
    if (runs_interpreter(&k, (s32)*state)) {
        k.second = word(k.coroutine + w->base);
        base = s->moment.registers.rdx;
    }
    if (begin(&k, base))
        return;
    keep_request(s, w, request_of(w, k.coroutine));
    loop(FRAMES_MOST, step, &k);
}

/* walk fills a moment whose head, with the registers, is set. */
inlined void walk(struct scratch *s, const struct worker *w) {
    int thread = s->moment.flags & IN_THREAD;

    keep_stack(s, s->moment.registers.rsp, thread ? ~7ULL : w->stack_end);
    if (thread)
        return;
    if (w->clock)
        keep(s, MEMORY, w->clock, 8);
    keep_lua(s, w);
}

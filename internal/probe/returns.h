/*
 * Where a thread is that the kernel has sent elsewhere for a probe's sake, be it one of Moonlap's or of another program's.
 * Where a function's return is probed (uretprobe), the kernel has put the address of a trampoline in place of the caller's,
 * and keeps that one: on the stack alone, who called the function is lost. An instruction that is probed and that the kernel
 * cannot emulate runs as a copy, in a slot next to the trampoline.
 */
#ifndef MOONLAP_RETURNS_H
#define MOONLAP_RETURNS_H

#include "bpf.h"

/* Of the kernel's structures, only what is read of them: where it lies is filled in when the program is loaded. */
#define RELOCATED __attribute__((preserve_access_index))

struct return_instance {
    unsigned long stack; /* where the address lay */
    unsigned long orig_ret_vaddr;
    struct return_instance *next; /* of a function that began before */
} RELOCATED;

struct uprobe_task {
    struct return_instance *return_instances;
    unsigned long xol_vaddr; /* of the copy of an instruction that ran last */
    unsigned long vaddr;     /* where it stands in the program */
} RELOCATED;

struct xol_area {
    unsigned long vaddr; /* the trampoline is the first there */
} RELOCATED;

struct uprobes_state {
    struct xol_area *xol_area;
} RELOCATED;

struct mm_struct {
    struct uprobes_state uprobes_state;
} RELOCATED;

struct sched_info {
    unsigned long long run_delay; /* ns waited for a processor */
} RELOCATED;

struct task_struct {
    struct sched_info sched_info;
    struct mm_struct *mm;
    struct uprobe_task *utask;
} RELOCATED;

/* follow reads a member of a structure of the kernel's; 0 where that cannot be read. */
#define follow(from, member)                                              \
    ({                                                                    \
        typeof((from)->member) value = 0;                                 \
        bpf_probe_read_kernel(&value, sizeof value, &(from)->member);     \
        value;                                                            \
    })
#define has(type, member) __builtin_preserve_field_info(((struct type *)0)->member, 2 /* whether it exists */)

/* As many as the kernel keeps of one thread at most: MAX_URETPROBE_DEPTH. */
#define RETURNS_MOST 64

struct returns {
    u64 trampoline, copy, copied; /* addresses: the last two of an instruction */
    struct {
        u64 place, address; /* of a return address in place of which the trampoline's stands; innermost first */
    } instead[RETURNS_MOST];
};

/* keep_returns keeps that of the thread that runs. */
inlined void keep_returns(struct scratch *s) {
    struct task_struct *task = bpf_get_current_task_btf();
    struct uprobe_task *utask;
    struct return_instance *one;
    u64 at = room(s);
    u32 i;
    struct xol_area *area;
    struct chunk *chunk;
    struct returns *r;

    if (!has(task_struct, utask) || !has(uprobe_task, return_instances) || !has(uprobe_task, vaddr) ||
        !has(return_instance, stack) || !has(return_instance, orig_ret_vaddr) || !has(mm_struct, uprobes_state.xol_area) ||
        !has(xol_area, vaddr))
        return; /* a kernel that has another way */
    utask = follow(task, utask);
    if (utask == 0 || at > CHUNKS - sizeof *chunk - sizeof *r)
        return; /* nothing that it runs was ever probed */
    one = follow(utask, return_instances);
    chunk = (struct chunk *)(s->chunks + at);
    r = (struct returns *)(chunk + 1);
    area = follow(follow(task, mm), uprobes_state.xol_area);
    r->trampoline = follow(area, vaddr);
    r->copy = follow(utask, xol_vaddr);
    r->copied = follow(utask, vaddr);
    for (i = 0; i < RETURNS_MOST && one; i++) {
        r->instead[i].place = follow(one, stack);
        r->instead[i].address = follow(one, orig_ret_vaddr);
        one = follow(one, next);
    }
    chunk->address = 0;
    chunk->size = sizeof *r - sizeof r->instead + i * sizeof r->instead[0];
    chunk->what = RETURNS;
    s->moment.bytes = at + sizeof *chunk + chunk->size;
}

#endif

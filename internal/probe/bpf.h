/* What a program for the kernel needs: helpers by their number, maps, sections. */
#ifndef MOONLAP_BPF_H
#define MOONLAP_BPF_H

#include "moment.h"

/* From the kernel's include/uapi/linux/bpf.h: types of maps, and flags. */
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_MAP_TYPE_TASK_STORAGE 29
#define BPF_F_NO_PREALLOC 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_AVAIL_DATA 0

/* From arch/x86/include/asm/ptrace.h: what the kernel saves of a thread that enters it. */
struct pt_regs {
    unsigned long r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
    unsigned long orig_rax, rip, cs, flags, rsp, ss;
};

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int(*name)[value]
#define __type(name, type) typeof(type) *name

static void *(*bpf_map_lookup_elem)(const void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(const void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(const void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*bpf_get_stack)(void *ctx, void *to, u32 size, u64 flags) = (void *)67;
static long (*bpf_probe_read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_ringbuf_output)(const void *ring, const void *data, u64 size, u64 flags) = (void *)130;
static u64 (*bpf_ringbuf_query)(const void *ring, u64 flags) = (void *)134;
static void *(*bpf_task_storage_get)(const void *map, void *task, void *value, u64 flags) = (void *)156;
static void *(*bpf_get_current_task_btf)(void) = (void *)158;
static long (*bpf_task_pt_regs)(void *task) = (void *)175;
static u64 (*bpf_get_attach_cookie)(void *ctx) = (void *)174;
static long (*bpf_loop)(u32 times, void *body, void *context, u64 flags) = (void *)181;

#endif

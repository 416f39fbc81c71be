#include "kernel.h"

/* A shadow stack (CET) holds that every call is returned from by `ret`. */
#if defined(__linux__) && defined(__x86_64__) && defined(__LP64__) && !defined(__CET__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl uvshim_kernel\n"
        ".hidden uvshim_kernel\n"
        ".type uvshim_kernel, @function\n"
        "uvshim_kernel:\n"
        "    .cfi_startproc\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    movq %r8, %r10\n"
        "    movq %r9, %r8\n"
        "    syscall\n"
        "    popq %rcx\n"
        "    .cfi_def_cfa_offset 0\n"
        "    .cfi_register %rip, %rcx\n"
        "    jmp *%rcx\n"
        "    .cfi_endproc\n"
        ".size uvshim_kernel, .-uvshim_kernel\n");
#else
#include <errno.h>
#include <unistd.h>

int uvshim_kernel(long number, long a, long b, long c, long d, long e) {
    long result = syscall(number, a, b, c, d, e);

    return result == -1 ? -errno : (int)result;
}
#endif

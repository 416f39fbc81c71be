/*
 * System calls that cost little, so that the way back from them matters.
 *
 * Linux guards AMD's processors up to Zen 4 against "speculative return stack overflow" by return
 * instructions that leave addresses of the kernel's on the processor's stack of expected returns
 * ("Safe RET"). So the first `ret` after a system call is expected to go there, and that costs 50 ns of
 * the 160 of an epoll_wait and 300 of the 950 of a statx (EPYC, Linux 6.18). The one function here
 * returns by an indirect jump, which is foreseen from where it went last. For that to help it has to
 * be the end of what Lua calls, a call in tail position: the next `ret` would be the first one.
 */
#ifndef MOONLAP_UVSHIM_KERNEL_H
#define MOONLAP_UVSHIM_KERNEL_H

#ifdef __linux__
#include <sys/syscall.h>
#ifdef SYS_epoll_wait
#define UVSHIM_EPOLL_WAIT SYS_epoll_wait
#else /* on newer architectures; with no signal mask, which is the fifth argument, it is the same */
#define UVSHIM_EPOLL_WAIT SYS_epoll_pwait
#endif
#endif

/* The system call of that number: its result, which has to fit, or an error as a number below 0. */
int uvshim_kernel(long number, long a, long b, long c, long d, long e);

#endif

/* returns: what the way back from a system call costs, by libc and by csrc/uvshim/kernel.c, interleaved.
 *     cc -O2 -o /tmp/returns returns/returns.c ../../csrc/uvshim/kernel.c && /tmp/returns */
#define _GNU_SOURCE
#include "../../../csrc/uvshim/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

enum { CALLS = 200000, ROUNDS = 15 };

static int epoll;
static struct epoll_event event;
static struct statx status;

static void epoll_libc(void) { epoll_wait(epoll, &event, 1, 0); }
static void statx_libc(void) { statx(AT_FDCWD, "measure.h", 0, STATX_BASIC_STATS | STATX_BTIME, &status); }

/* In tail position, as in the shim. */
static void epoll_ours(void) { uvshim_kernel(SYS_epoll_wait, epoll, (long)&event, 1, 0, 0); }
static void statx_ours(void) {
    uvshim_kernel(SYS_statx, AT_FDCWD, (long)"measure.h", 0, STATX_BASIC_STATS | STATX_BTIME, (long)&status);
}

static struct {
    const char *name;
    void (*call)(void);
    double ns[ROUNDS];
} ways[] = {
    {"epoll_wait, libc", epoll_libc, {0}},
    {"epoll_wait, uvshim_kernel", epoll_ours, {0}},
    {"statx, libc", statx_libc, {0}},
    {"statx, uvshim_kernel", statx_ours, {0}},
};

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

int main(void) {
    size_t n = sizeof ways / sizeof *ways;

    epoll = epoll_create1(0);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < n; i++) {
            double start = cpu_ns();
            for (int call = 0; call < CALLS; call++)
                ways[i].call();
            ways[i].ns[round] = (cpu_ns() - start) / CALLS;
        }
    for (size_t i = 0; i < n; i++) {
        qsort(ways[i].ns, ROUNDS, sizeof(double), by_size);
        printf("%-28s %6.1f ns (%.1f to %.1f)\n", ways[i].name, ways[i].ns[ROUNDS / 2], ways[i].ns[0],
               ways[i].ns[ROUNDS - 1]);
    }
    return status.stx_size == 0;
}

/* How many bytes are allocated until the stack is looked at next. */
#ifndef MOONLAP_ALLOC_H
#define MOONLAP_ALLOC_H

#include "moment.h"

/* A window is a time in which allocations count; user space opens and closes it. */
struct window {
    u64 number; /* 0: closed */
    u64 state;  /* first argument of the allocator: other machines use it, too */
    u64 mean;   /* bytes from one look to the next, on average, as a power of two */
};

/* What a worker has allocated in windows, and what it took to know. */
struct heap {
    u64 traps;  /* also outside of windows */
    u64 bytes;  /* by which blocks were made or grew */
    u64 blocks; /* that were made */
    u64 looks;  /* ns that they took */
    u64 lost;   /* looks */
    u64 window; /* that the distance was drawn for */
    u64 left;   /* bytes until the next look */
};

#define ALLOCATES 16 /* kind of a moment: Lua asks for memory */

/* A moment's value: the bytes of the allocation that it was taken at, whether a block grew, and the window's mean. */
#define GREW_AT 55
#define MEAN_AT 56
#define GROWTH_MOST ((1ULL << GREW_AT) - 1)

/* exponential draws a whole number from 1 on: an exponential distribution of the mean 2^mean, rounded up. An allocation of so
 * many bytes then is the next look's with exactly the probability 1 - exp(-bytes / 2^mean), whatever came before. random is
 * uniform in 32 bits. -ln((random + 1) / 2^32) is had from the logarithm to base 2, bit after bit by squaring. */
inlined u64 exponential(u32 random, u64 mean) {
    u64 v = (u64)random + 1, halvings = 0, fraction = 0, nats;
    int i;

    for (i = 0; i < 32 && v < 1ULL << 32; i++) {
        v <<= 1;
        halvings++;
    }
    v >>= 1; /* from 1 to 2, with 31 bits behind the point */
    for (i = 15; i >= 0; i--) {
        v = v * v >> 31;
        if (v >> 32) {
            fraction |= 1ULL << i;
            v >>= 1;
        }
    }
    nats = ((halvings << 16) - fraction) * 45426 >> 16; /* ln 2 = 45426 / 2^16 */
    return (nats << mean >> 16) + 1;
}

#endif

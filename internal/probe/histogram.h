/* Times by their length. */
#ifndef MOONLAP_HISTOGRAM_H
#define MOONLAP_HISTOGRAM_H

#include "moment.h"

/* bucket is the place in a histogram of a time in ns: sixteen for each power of two. */
inlined u32 bucket(u64 ns) {
    u64 v = ns;
    u32 power = 0, at;

    if (ns >> TURN_LOWEST == 0)
        return 0;
    if (v >> 32)
        v >>= 32, power += 32;
    if (v >> 16)
        v >>= 16, power += 16;
    if (v >> 8)
        v >>= 8, power += 8;
    if (v >> 4)
        v >>= 4, power += 4;
    if (v >> 2)
        v >>= 2, power += 2;
    if (v >> 1)
        power += 1;
    at = 1 + (power - TURN_LOWEST) * 16 + (ns >> (power - 4) & 15);
    return at < TURN_BUCKETS ? at : TURN_BUCKETS - 1;
}

/* count adds a time in ns. */
inlined void count(struct spans *s, u64 ns) {
    u32 at = bucket(ns);

    barrier_var(at);
    if (at < TURN_BUCKETS)
        s->counts[at]++;
    s->sum += ns;
    if (ns > s->longest)
        s->longest = ns;
    if (s->least == 0 || ns < s->least)
        s->least = ns;
}

#endif

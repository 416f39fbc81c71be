/*
 * The walker of walk.h as an ordinary program: it walks saved memory. On its input come the worker, the
 * registers and the memory, then one order after another; for each it writes the moment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char byte;

static int read_user(void *to, unsigned size, unsigned long long address);

#define loop(times, body, context) \
    for (u32 i_ = 0; i_ < (times) && !body(i_, context); i_++)

#include "../walk.h"

struct part {
    u64 address, size;
    byte *bytes;
};

static struct part *parts;
static u64 count;

/* An order changes a word of the memory, or has all of it read as that word, and walks. */
static struct order {
    u64 what; /* 0: leave the memory as it is; 1: change the word at address; 2: it is everywhere */
    u64 address, value;
} order;

/* Saved memory has the bytes that the walk in Go has read; others next to them read as zero. */
static int read_user(void *to, u32 size, u64 address) {
    int any = 0;

    if (order.what == 2) {
        for (u32 i = 0; i < size; i++)
            ((byte *)to)[i] = ((byte *)&order.value)[(address + i) % 8];
        return 0;
    }
    memset(to, 0, size);
    for (u64 i = 0; i < count; i++) {
        u64 from = address > parts[i].address ? address : parts[i].address;
        u64 end = address + size < parts[i].address + parts[i].size ? address + size : parts[i].address + parts[i].size;

        if (address + size >= address && from < end) {
            memcpy((byte *)to + (from - address), parts[i].bytes + (from - parts[i].address), end - from);
            any = 1;
        }
    }
    if (order.what == 1)
        for (u32 i = 0; i < size; i++)
            if (any && address + i - order.address < 8)
                ((byte *)to)[i] = ((byte *)&order.value)[address + i - order.address];
    return !any;
}

/* A part may be empty: the walk in Go has read nothing there. */
static int get(void *to, size_t size) { return fread(to, 1, size, stdin) == size; }

int main(void) {
    struct worker w;
    struct registers registers;
    static struct scratch s;

    if (!get(&w, sizeof w) || !get(&registers, sizeof registers) || !get(&count, sizeof count))
        return 1;
    parts = calloc(count, sizeof *parts);
    for (u64 i = 0; i < count; i++) {
        if (!get(&parts[i], 16))
            return 1;
        parts[i].bytes = malloc(parts[i].size);
        if (!get(parts[i].bytes, parts[i].size))
            return 1;
    }
    while (get(&order, sizeof order)) {
        memset(&s.moment, 0, sizeof s.moment);
        s.moment.kind = ON_CPU;
        s.moment.registers = registers;
        walk(&s, &w);
        fwrite(&s, sizeof s.moment + s.moment.bytes, 1, stdout);
        fflush(stdout);
    }
    return 0;
}

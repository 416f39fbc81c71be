/*
 * What stands in memory before every handle and request: the shim's own notes on it; and what its
 * files share.
 */
#ifndef MOONLAP_UVSHIM_BLOCK_H
#define MOONLAP_UVSHIM_BLOCK_H

#include "uvshim.h"

typedef struct uvshim_block {
    struct uvshim_block *next, **link;
    uint16_t is_handle, is_work, is_process, is_sent, is_plain;
    uint32_t mmsgs;          /* udp: datagrams in one recvmmsg, 0 without */
    uvshim_mailbox *mailbox; /* async: made when another Lua state is to have it */
    union {
        struct {
            uint32_t unclaimed; /* server: accepted handles that Lua has not taken over */
            uint32_t drain;     /* stream: since which it has read */
        };
        struct {
            int pid, pidfd; /* process: the child, and a descriptor of it until its end */
        };
    };
    union {
        char *received;                  /* udp: where the buffer lies that libuv reads into */
        struct uvshim_block *next_ended; /* process: the next one in the queue's list */
        struct uvshim_block *next_sent;  /* async: the same */
    };
} uvshim_block;

/* What a message may hold begins with what lets go of it. */
typedef struct {
    void (*drop)(void *held);
} uvshim_held;

/* Flags of a stream that can be read and written. libuv keeps them to itself: whoever changes them asks libuv
 * what came of it. */
enum { UVSHIM_READABLE = 0x4000, UVSHIM_WRITABLE = 0x8000 };

/* A multiple of 16, so that what follows is aligned for everything. */
#define HEADER ((sizeof(uvshim_block) + 15) & ~(size_t)15)

/* Zeroed memory behind a block, see uvshim_handle; NULL: no memory. */
void *uvshim_block_new(uvshim_queue *queue, size_t size, uint32_t is_handle, uint32_t id);

/* Lua has used what the records showed. */
void uvshim_empty_slab(uvshim_queue *queue);
/* Appends the records of asyncs that were sent to by this thread. */
void uvshim_record_sent(uvshim_queue *queue);
/* A poll begins, and is over. */
void uvshim_begin_poll(uvshim_queue *queue);
void uvshim_end_poll(uvshim_queue *queue);
/* Room for uvshim_wait where libuv is one that it knows; else NULL. */
struct uvshim_ready *uvshim_ready_new(const uv_loop_t *loop);
/* Appends the records of children that have ended in this poll: behind all others, where libuv has them. */
void uvshim_record_ended(uvshim_queue *queue);
void uvshim_record_exit(uvshim_queue *queue, uv_handle_t *process, int status, int signal);

static inline uvshim_block *block_of(void *p) { return (uvshim_block *)((char *)p - HEADER); }
static inline void *inside(uvshim_block *block) { return (char *)block + HEADER; }

#endif

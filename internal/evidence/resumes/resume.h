/* Runs of Lua for a request, from the entry of a function of nginx's Lua module to its return. */
#ifndef MOONLAP_RESUME_H
#define MOONLAP_RESUME_H

#include "moment.h"

/* A worker whose runs of Lua are timed. User space sets the first. */
struct resumer {
    u64 mask;               /* of the phase, a bit, in what lies where struct worker says */
    u64 current, coroutine; /* in that context, the record of the coroutine that is to run, and in the record, the coroutine; 0: not found yet */
    u64 traps;              /* into the kernel */
    u64 looks;              /* ns that telling of long ones took */
    u64 lost;               /* entries that were nested too deep, and long ones that could not be told of */
    u64 longest[8];         /* own times in ns of those that were told of, without waits for a processor */
};

/* The cookie of an attachment: the worker's number; above it the phase, as the bit that it has in context; how the
 * function has its arguments; and which attachment it is. */
#define COOKIE_NUMBER 0xffff
#define COOKIE_PHASE 16
#define COOKIE_ARGUMENTS 24
#define COOKIE_TIMES 32
enum given {
    OF_THREAD = 0,  /* lua_State, request, the Lua module's context: ngx_http_lua_run_thread; the phase is in context */
    OF_CHUNK = 1,   /* lua_State with the function on top, request */
    OF_HANDLER = 2, /* request */
};

#define AGAIN ((u64)-2) /* NGX_AGAIN: the function returns to go on later */

/* What runs, entered and not left. */
struct entry {
    u64 sp;      /* where its return address is */
    u64 entered; /* when; and when the probe had done with it */
    u64 since;
    u64 nested; /* ns of others that it entered, with what probing them took */
    u64 queued; /* ns that the thread had waited for a processor; without that of the others */
    u64 cookie, request;
    u64 code;    /* first instruction of the Lua function that it begins with, or goes on in; 0: not known */
    u64 at;      /* in which instruction it goes on; 0: it begins */
    u32 context; /* the phase, a bit */
    u32 fresh;   /* it begins; else it goes on */
};

#define NESTED_MOST 8
struct entries {
    u64 depth;
    struct entry at[NESTED_MOST];
};

/* Which phase of which worker. */
struct phase {
    u32 worker, context;
};

/* What became of the runs of a phase: without those that they entered, and with them; and the waits between
 * two runs for a request. */
struct resumed {
    struct spans own, whole, waits;
    u64 fresh;
    u64 queued; /* ns of own: it had no processor */
};

/* Which request of which worker. */
struct served {
    u64 worker, request;
};

/* When Lua for a request was left, to go on later. */
struct paused {
    u64 since, cookie, context;
};

/* Flags of a run. */
#define BEGINS 1
#define PAUSES 2

#define RAN 17 /* kind of a moment: a run of Lua has taken long; it has a chunk OWN */

/* A run that is reported. */
struct run {
    u64 since, whole, own, queued, request, code, at;
    u32 context, flags;
};

#endif

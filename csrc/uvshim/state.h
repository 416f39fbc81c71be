/*
 * Lua states of other threads, see state.c.
 */
#ifndef MOONLAP_UVSHIM_STATE_H
#define MOONLAP_UVSHIM_STATE_H

#include "lua_api.h"

typedef struct {
    const char *text;
    size_t size;
} uvshim_bytes;

/* Where a state keeps what its boot returned: the module lua/moonlap/uv/worker.lua. */
#define WORKER "moonlap.uv.worker"

/* A state made ready by the source `boot`; NULL, and words on stderr, when that failed. */
lua_State *uvshim_state_open(uvshim_bytes boot);
/* Says on stderr what lies on the stack's top, and empties it. */
void uvshim_state_complain(lua_State *L, const char *before);
/* Copies into memory of its own; returns 0 or UV_ENOMEM. */
int uvshim_bytes_copy(uvshim_bytes *to, const char *text, size_t size);

#endif

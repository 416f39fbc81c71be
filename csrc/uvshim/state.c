/*
 * Lua states of other threads: of those that a program starts, and of libuv's pool. A state runs a piece of Lua
 * source, the boot, which returns the module that knows what to do there.
 */
#include "state.h"
#include "uvshim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int boot_state(lua_State *L) {
    const uvshim_bytes *boot = lua_touserdata(L, 1);

    luaL_openlibs(L);
    if (luaL_loadbuffer(L, boot->text, boot->size, "=moonlap.uv boot") != 0)
        return lua_error(L);
    lua_call(L, 0, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, WORKER);
    return 0;
}

void uvshim_state_complain(lua_State *L, const char *before) {
    const char *text = lua_tolstring(L, -1, NULL);

    fprintf(stderr, "%s%s\n", before, text ? text : "(null)");
    lua_settop(L, 0);
}

lua_State *uvshim_state_open(uvshim_bytes boot) {
    lua_State *L = luaL_newstate();

    if (L == NULL) {
        fputs("System Error: not enough memory\n", stderr);
    } else if (lua_cpcall(L, boot_state, &boot) != 0) {
        uvshim_state_complain(L, "Uncaught Error in thread: ");
        lua_close(L);
        L = NULL;
    }
    return L;
}

int uvshim_bytes_copy(uvshim_bytes *to, const char *text, size_t size) {
    char *memory = malloc(size + 1);

    if (memory == NULL)
        return UV_ENOMEM;
    to->text = memcpy(memory, text, size);
    to->size = size;
    return 0;
}

/*
 * Userdata with room for a number, which Lua itself cannot make (lua/moonlap/uv/userdata.lua).
 * Lua's C API is declared weakly, as in thread.c, for the same reasons.
 */
#include "uvshim.h"

#include <dlfcn.h>
#include <stddef.h>

typedef struct lua_State lua_State;
#define LUA_API extern __attribute__((weak))
LUA_API void *lua_newuserdata(lua_State *L, size_t size);
LUA_API int lua_getmetatable(lua_State *L, int index);
LUA_API int lua_setmetatable(lua_State *L, int index);
LUA_API void lua_rawseti(lua_State *L, int index, int n);
LUA_API ptrdiff_t lua_tointeger(lua_State *L, int index);

const char *uvshim_path(void) {
    Dl_info info;

    if (lua_newuserdata == NULL || dladdr((void *)(uintptr_t)uvshim_path, &info) == 0)
        return NULL;
    return info.dli_fname;
}

int uvshim_userdata(lua_State *L) {
    ptrdiff_t n = lua_tointeger(L, 3);

    for (int i = 1; i <= n; i++) {
        *(int32_t *)lua_newuserdata(L, sizeof(int32_t)) = 0;
        lua_getmetatable(L, 2);
        lua_setmetatable(L, -2);
        lua_rawseti(L, 1, i);
    }
    return 0;
}

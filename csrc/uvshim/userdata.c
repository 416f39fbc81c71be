/*
 * Userdata with room for a number, which Lua itself cannot make (lua/moonlap/uv/userdata.lua).
 */
#include "lua_api.h"
#include "uvshim.h"

#include <dlfcn.h>
#include <stddef.h>

const char *uvshim_path(void) {
    Dl_info info;

    if (lua_newuserdata == NULL || dladdr((void *)(uintptr_t)uvshim_path, &info) == 0)
        return NULL;
    return info.dli_fname;
}

int uvshim_object(lua_State *L) {
    lua_settop(L, 1);
    lua_newuserdata(L, 0);
    lua_insert(L, 1);
    lua_setmetatable(L, 1);
    return 1;
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

/*
 * Functions of Lua behind a function of C. LuaJIT ends a trace at the call of a C function and begins
 * another one behind it: so what is called need not be compilable, its caller stays compiled, and a
 * coroutine cannot yield across.
 */
#include "lua_api.h"
#include "uvshim.h"

static int call_through(lua_State *L) {
    lua_pushvalue(L, upvalue(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* Its main coroutine is known to a state from when it calls this; upvalue 2 has it. */
static int call_on_main(lua_State *L) {
    lua_State *main;
    int n, before, status;

    main = lua_touserdata(L, upvalue(2));
    if (main == L)
        return call_through(L);
    if (lua_pushthread(L)) {
        lua_settop(L, -2);
        lua_pushlightuserdata(L, L);
        lua_replace(L, upvalue(2));
        return call_through(L);
    }
    lua_settop(L, -2);
    if (main == NULL)
        return call_through(L);
    n = lua_gettop(L);
    before = lua_gettop(main);
    if (!lua_checkstack(main, n + 1))
        return luaL_error(L, "stack overflow");
    lua_pushvalue(L, upvalue(1));
    lua_insert(L, 1);
    lua_xmove(L, main, n + 1);
    status = lua_pcall(main, n, LUA_MULTRET, 0);
    n = lua_gettop(main) - before;
    if (!lua_checkstack(L, n)) {
        lua_settop(main, before);
        return luaL_error(L, "stack overflow");
    }
    lua_xmove(main, L, n);
    return status == 0 ? n : lua_error(L);
}

int uvshim_barrier(lua_State *L) {
    lua_settop(L, 1);
    lua_pushcclosure(L, call_through, 1);
    return 1;
}

int uvshim_main_barrier(lua_State *L) {
    lua_settop(L, 1);
    lua_pushlightuserdata(L, lua_pushthread(L) ? L : NULL);
    lua_insert(L, 2);
    lua_settop(L, 2);
    lua_pushcclosure(L, call_on_main, 2);
    return 1;
}

/*
 * What the shim uses of Lua's C API. It is declared here, weakly: the host program has it, whichever LuaJIT that
 * is, so that no headers are needed to build and the library loads even where the host does not export it.
 */
#ifndef MOONLAP_UVSHIM_LUA_API_H
#define MOONLAP_UVSHIM_LUA_API_H

#include <stddef.h>

typedef struct lua_State lua_State;
typedef int (*lua_CFunction)(lua_State *L);

#define LUA_API extern __attribute__((weak))
LUA_API lua_State *luaL_newstate(void);
LUA_API void luaL_openlibs(lua_State *L);
LUA_API int luaL_loadbuffer(lua_State *L, const char *text, size_t size, const char *name);
LUA_API int luaL_error(lua_State *L, const char *format, ...);
LUA_API void lua_close(lua_State *L);
LUA_API int lua_cpcall(lua_State *L, lua_CFunction function, void *data);
LUA_API void lua_call(lua_State *L, int arguments, int results);
LUA_API int lua_pcall(lua_State *L, int arguments, int results, int handler);
LUA_API int lua_error(lua_State *L);
LUA_API int lua_gettop(lua_State *L);
LUA_API void lua_settop(lua_State *L, int index);
LUA_API int lua_checkstack(lua_State *L, int n);
LUA_API void lua_insert(lua_State *L, int index);
LUA_API void lua_replace(lua_State *L, int index);
LUA_API void lua_xmove(lua_State *from, lua_State *to, int n);
LUA_API int lua_type(lua_State *L, int index);
LUA_API int lua_toboolean(lua_State *L, int index);
LUA_API double lua_tonumber(lua_State *L, int index);
LUA_API ptrdiff_t lua_tointeger(lua_State *L, int index);
LUA_API const char *lua_tolstring(lua_State *L, int index, size_t *size);
LUA_API void *lua_touserdata(lua_State *L, int index);
LUA_API void lua_pushvalue(lua_State *L, int index);
LUA_API void lua_pushnil(lua_State *L);
LUA_API void lua_pushboolean(lua_State *L, int value);
LUA_API void lua_pushnumber(lua_State *L, double value);
LUA_API void lua_pushlstring(lua_State *L, const char *text, size_t size);
LUA_API void lua_pushcclosure(lua_State *L, lua_CFunction function, int n);
LUA_API void lua_pushlightuserdata(lua_State *L, void *p);
LUA_API int lua_pushthread(lua_State *L);
LUA_API void *lua_newuserdata(lua_State *L, size_t size);
LUA_API int lua_getmetatable(lua_State *L, int index);
LUA_API int lua_setmetatable(lua_State *L, int index);
LUA_API void lua_createtable(lua_State *L, int array, int hash);
LUA_API void lua_getfield(lua_State *L, int index, const char *name);
LUA_API void lua_setfield(lua_State *L, int index, const char *name);
LUA_API void lua_rawget(lua_State *L, int index);
LUA_API void lua_rawset(lua_State *L, int index);
LUA_API void lua_rawgeti(lua_State *L, int index, int n);
LUA_API void lua_rawseti(lua_State *L, int index, int n);

#define LUA_REGISTRYINDEX (-10000)
#define LUA_MULTRET (-1)
#define upvalue(i) (-10002 - (i))
enum { T_NIL = 0, T_BOOLEAN = 1, T_NUMBER = 3, T_STRING = 4, T_TABLE = 5, T_FUNCTION = 6 };
enum { LUA_ERRRUN = 2, LUA_ERRMEM = 4 };

#endif

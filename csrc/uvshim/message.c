/*
 * Lua values as a message and back (lua/moonlap/uv/message.lua has the form), in one call each: what goes
 * to the thread pool and comes back. Userdata are known to Lua alone, so what has any is left to it.
 * Lua's C API is declared weakly, as in thread.c, for the same reasons.
 */
#include "uvshim.h"

#include <string.h>

typedef struct lua_State lua_State;
typedef int (*lua_CFunction)(lua_State *L);
#define LUA_API extern __attribute__((weak))
LUA_API int lua_gettop(lua_State *L);
LUA_API void lua_settop(lua_State *L, int index);
LUA_API void lua_insert(lua_State *L, int index);
LUA_API void lua_pushvalue(lua_State *L, int index);
LUA_API int lua_type(lua_State *L, int index);
LUA_API int lua_checkstack(lua_State *L, int n);
LUA_API int lua_toboolean(lua_State *L, int index);
LUA_API double lua_tonumber(lua_State *L, int index);
LUA_API const char *lua_tolstring(lua_State *L, int index, size_t *size);
LUA_API void lua_pushnil(lua_State *L);
LUA_API void lua_pushboolean(lua_State *L, int value);
LUA_API void lua_pushnumber(lua_State *L, double value);
LUA_API void lua_pushlstring(lua_State *L, const char *text, size_t size);
LUA_API void lua_pushcclosure(lua_State *L, lua_CFunction function, int n);
LUA_API void *lua_newuserdata(lua_State *L, size_t size);
LUA_API void lua_call(lua_State *L, int arguments, int results);
#define LUA_MULTRET (-1)
#define upvalue(i) (-10002 - (i))
enum { T_NIL = 0, T_BOOLEAN = 1, T_NUMBER = 3, T_STRING = 4 };

#define NUMBER sizeof(double)

/* What Lua does with the same arguments; it is upvalue 1. */
static int leave_to_lua(lua_State *L, int arguments) {
    lua_settop(L, arguments);
    lua_pushvalue(L, upvalue(1));
    lua_insert(L, 1);
    lua_call(L, arguments, LUA_MULTRET);
    return lua_gettop(L);
}

static char *put_number(char *p, double number) {
    memcpy(p, &number, NUMBER);
    return p + NUMBER;
}

/* Of (ours, …), see message.encode. */
static int encode(lua_State *L) {
    char small[1024], *text = small, *p;
    size_t size = NUMBER, length;
    int n = lua_gettop(L);

    for (int i = 2; i <= n; i++) {
        switch (lua_type(L, i)) {
        case T_NIL:
        case T_BOOLEAN:
            size += 1;
            break;
        case T_NUMBER:
            size += 1 + NUMBER;
            break;
        case T_STRING:
            lua_tolstring(L, i, &length);
            size += 1 + NUMBER + length;
            break;
        default:
            return leave_to_lua(L, n);
        }
    }
    if (size > sizeof small)
        text = lua_newuserdata(L, size);
    p = put_number(text, 0); /* mailboxes that are held */
    for (int i = 2; i <= n; i++) {
        const char *string;
        switch (lua_type(L, i)) {
        case T_NIL:
            *p++ = 'n';
            break;
        case T_BOOLEAN:
            *p++ = lua_toboolean(L, i) ? 't' : 'f';
            break;
        case T_NUMBER:
            *p++ = 'd';
            p = put_number(p, lua_tonumber(L, i));
            break;
        default:
            string = lua_tolstring(L, i, &length);
            *p++ = 's';
            p = put_number(p, (double)length);
            memcpy(p, string, length);
            p += length;
        }
    }
    lua_pushlstring(L, text, (size_t)(p - text));
    return 1;
}

static double number_at(const char *p) {
    double number;

    memcpy(&number, p, NUMBER);
    return number;
}

static int decode(lua_State *L) {
    size_t size;
    const char *text = lua_tolstring(L, 1, &size), *end = text + size, *p;

    for (p = text + NUMBER * (1 + (size_t)number_at(text)); p < end;) {
        if (!lua_checkstack(L, 2))
            return leave_to_lua(L, 1);
        switch (*p++) {
        case 'n':
            lua_pushnil(L);
            break;
        case 't':
            lua_pushboolean(L, 1);
            break;
        case 'f':
            lua_pushboolean(L, 0);
            break;
        case 'd':
            lua_pushnumber(L, number_at(p));
            p += NUMBER;
            break;
        case 's':
            size = (size_t)number_at(p);
            lua_pushlstring(L, p + NUMBER, size);
            p += NUMBER + size;
            break;
        default:
            return leave_to_lua(L, 1);
        }
    }
    return lua_gettop(L) - 1;
}

int uvshim_encoder(lua_State *L) {
    lua_settop(L, 1);
    lua_pushcclosure(L, encode, 1);
    return 1;
}

int uvshim_decoder(lua_State *L) {
    lua_settop(L, 1);
    lua_pushcclosure(L, decode, 1);
    return 1;
}

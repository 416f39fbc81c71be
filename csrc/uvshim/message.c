/*
 * Lua values as a message and back (lua/moonlap/uv/message.lua has the form), in one call each: what goes
 * to the thread pool and comes back. Userdata are known to Lua alone, so what has any is left to it.
 */
#include "message.h"
#include "uvshim.h"

#include <string.h>

#define NUMBER sizeof(double)

static char *put_number(char *p, double number) {
    memcpy(p, &number, NUMBER);
    return p + NUMBER;
}

static double number_at(const char *p) {
    double number;

    memcpy(&number, p, NUMBER);
    return number;
}

size_t uvshim_message_size(lua_State *L, int first, int last) {
    size_t size = NUMBER, length;

    for (int i = first; i <= last; i++) {
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
            return 0;
        }
    }
    return size;
}

void uvshim_message_write(lua_State *L, int first, int last, char *text) {
    char *p = put_number(text, 0); /* mailboxes that are held */

    for (int i = first; i <= last; i++) {
        const char *string;
        size_t length;
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
}

int uvshim_message_push(lua_State *L, const char *text, size_t size) {
    const char *end = text + size, *p;
    int top = lua_gettop(L);
    size_t length;

    for (p = text + NUMBER * (1 + (size_t)number_at(text)); p < end;) {
        if (!lua_checkstack(L, 2))
            luaL_error(L, "stack overflow");
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
            length = (size_t)number_at(p);
            lua_pushlstring(L, p + NUMBER, length);
            p += NUMBER + length;
            break;
        default:
            lua_settop(L, top);
            return 0;
        }
    }
    return 1;
}

/* -- for Lua ---------------------------------------------------------------------------------- */

/* What Lua does with the same arguments; it is upvalue 1. */
static int leave_to_lua(lua_State *L, int arguments) {
    lua_pushvalue(L, upvalue(1));
    lua_insert(L, 1);
    lua_call(L, arguments, LUA_MULTRET);
    return lua_gettop(L);
}

/* Of (ours, …), see message.encode. */
static int encode(lua_State *L) {
    char small[1024], *text = small;
    int n = lua_gettop(L);
    size_t size = uvshim_message_size(L, 2, n);

    if (size == 0)
        return leave_to_lua(L, n);
    if (size > sizeof small)
        text = lua_newuserdata(L, size);
    uvshim_message_write(L, 2, n, text);
    lua_pushlstring(L, text, size);
    return 1;
}

static int decode(lua_State *L) {
    size_t size;
    const char *text = lua_tolstring(L, 1, &size);

    return uvshim_message_push(L, text, size) ? lua_gettop(L) - 1 : leave_to_lua(L, 1);
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

/*
 * Lua values as a message and back, see message.c. Userdata are known to Lua alone: where there are any, these
 * say so, and Lua's own functions (lua/moonlap/uv/message.lua) do the same.
 */
#ifndef MOONLAP_UVSHIM_MESSAGE_H
#define MOONLAP_UVSHIM_MESSAGE_H

#include "lua_api.h"

/* How many bytes the values at the indices first to last take as a message; 0: there are others than nil,
 * booleans, numbers and strings. */
size_t uvshim_message_size(lua_State *L, int first, int last);
/* Writes them, for which there is room. */
void uvshim_message_write(lua_State *L, int first, int last, char *text);
/* Pushes a message's values; returns 0, with nothing pushed, where that is left to Lua. */
int uvshim_message_push(lua_State *L, const char *text, size_t size);

#endif

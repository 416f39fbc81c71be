/*
 * Lua in other threads: threads of their own and work for libuv's pool, each in a Lua state that
 * is made here. A state runs a piece of Lua source, the boot, which returns a function; that one
 * is then called with a message, a string, and may return one. What messages mean is Lua's matter
 * (lua/moonlap/uv/message.lua), so little of Lua's C API is needed here.
 *
 * It is declared here, weakly: the host program has it, whichever LuaJIT that is, so that no
 * headers are needed to build and the library loads even where the host does not export it.
 */
#include "uvshim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lua_State lua_State;
#define LUA_API extern __attribute__((weak))
LUA_API lua_State *luaL_newstate(void);
LUA_API void luaL_openlibs(lua_State *L);
LUA_API int luaL_loadbuffer(lua_State *L, const char *text, size_t size, const char *name);
LUA_API int lua_cpcall(lua_State *L, int (*function)(lua_State *), void *data);
LUA_API void lua_call(lua_State *L, int arguments, int results);
LUA_API int lua_error(lua_State *L);
LUA_API void lua_close(lua_State *L);
LUA_API void lua_settop(lua_State *L, int index);
LUA_API void lua_pushlstring(lua_State *L, const char *text, size_t size);
LUA_API const char *lua_tolstring(lua_State *L, int index, size_t *size);
LUA_API void *lua_touserdata(lua_State *L, int index);
LUA_API void lua_getfield(lua_State *L, int index, const char *name);
LUA_API void lua_setfield(lua_State *L, int index, const char *name);
#define LUA_REGISTRYINDEX (-10000)

/* Where the boot's function is kept. */
#define RUN "moonlap.uv.run"

typedef struct {
    const char *text;
    size_t size;
} bytes;

/* -- states ----------------------------------------------------------------------------------- */

static int boot_state(lua_State *L) {
    const bytes *boot = lua_touserdata(L, 1);

    luaL_openlibs(L);
    if (luaL_loadbuffer(L, boot->text, boot->size, "=moonlap.uv boot") != 0)
        return lua_error(L);
    lua_call(L, 0, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, RUN);
    return 0;
}

typedef struct {
    bytes message, result; /* the result is a message, or NULL */
} exchange;

static int run_message(lua_State *L) {
    exchange *x = lua_touserdata(L, 1);
    const char *text;

    lua_getfield(L, LUA_REGISTRYINDEX, RUN);
    lua_pushlstring(L, x->message.text, x->message.size);
    lua_call(L, 1, 1);
    text = lua_tolstring(L, -1, &x->result.size);
    if (text != NULL && (x->result.text = uvshim_message_copy(text, x->result.size)) == NULL)
        uvshim_message_drop(text);
    return 0;
}

static void complain(lua_State *L) {
    const char *text = lua_tolstring(L, -1, NULL);

    fprintf(stderr, "Uncaught Error in thread: %s\n", text ? text : "(null)");
    lua_settop(L, 0);
}

static lua_State *open_state(bytes boot) {
    lua_State *L = luaL_newstate();

    if (L == NULL) {
        fputs("System Error: not enough memory\n", stderr);
    } else if (lua_cpcall(L, boot_state, &boot) != 0) {
        complain(L);
        lua_close(L);
        L = NULL;
    }
    return L;
}

static void run(lua_State *L, exchange *x) {
    if (lua_cpcall(L, run_message, x) != 0)
        complain(L);
}

static int copy(bytes *to, const char *text, size_t size) {
    char *memory = malloc(size + 1);

    if (memory == NULL)
        return UV_ENOMEM;
    to->text = memcpy(memory, text, size);
    to->size = size;
    return 0;
}

/* -- threads ---------------------------------------------------------------------------------- */

struct uvshim_thread {
    uv_thread_t id;
    int is_joined;
};

/* What a thread owns from its start; the creator may be gone before it ends. */
typedef struct {
    bytes boot, message;
} errand;

static void thread_main(void *arg) {
    errand *e = arg;
    lua_State *L = open_state(e->boot);

    if (L != NULL) {
        exchange x = {e->message, {NULL, 0}};
        run(L, &x);
        uvshim_message_free((char *)x.result.text);
        lua_close(L);
    }
    uvshim_message_free((char *)e->message.text);
    free((char *)e->boot.text);
    free(e);
}

static int start(uvshim_thread *thread, errand *e, double stack_size) {
    uv_thread_options_t options = {UV_THREAD_NO_FLAGS, 0};

    if (stack_size >= 0) {
        options.flags = UV_THREAD_HAS_STACK_SIZE;
        options.stack_size = (size_t)stack_size;
    }
    return uv_thread_create_ex(&thread->id, &options, thread_main, e);
}

uvshim_thread *uvshim_thread_start(const char *boot, size_t boot_size, const char *message, size_t size,
                                   double stack_size, int *status) {
    uvshim_thread *thread = calloc(1, sizeof *thread);
    errand *e = calloc(1, sizeof *e);

    *status = luaL_newstate == NULL ? UV_ENOSYS : UV_ENOMEM;
    if (luaL_newstate != NULL && thread != NULL && e != NULL && copy(&e->boot, boot, boot_size) == 0 &&
        copy(&e->message, message, size) == 0)
        *status = start(thread, e, stack_size);
    if (*status == 0)
        return thread;
    uvshim_message_drop(message);
    if (e != NULL) {
        free((char *)e->message.text);
        free((char *)e->boot.text);
    }
    free(e);
    free(thread);
    return NULL;
}

int uvshim_thread_join(uvshim_thread *thread) {
    int status;

    if (thread->is_joined)
        return UV_ESRCH;
    status = uv_thread_join(&thread->id);
    thread->is_joined = status == 0;
    return status;
}

void uvshim_thread_drop(uvshim_thread *thread) {
    if (!thread->is_joined)
        pthread_detach(thread->id);
    free(thread);
}

double uvshim_thread_id(uvshim_thread *thread) {
    return (double)(uintptr_t)(thread != NULL ? thread->id : uv_thread_self());
}

/* -- work for the pool ------------------------------------------------------------------------ */

/* A state that does nothing just now. Never more are made than work runs at the same time. */
typedef struct idle_state {
    struct idle_state *next;
    lua_State *L;
} idle_state;

struct uvshim_states {
    uv_mutex_t mutex;
    idle_state *idle;
    bytes boot;
};

static uvshim_states *states_new(const char *boot, size_t boot_size) {
    uvshim_states *states = calloc(1, sizeof *states);

    if (states == NULL || copy(&states->boot, boot, boot_size) != 0 || uv_mutex_init(&states->mutex) != 0) {
        if (states != NULL)
            free((char *)states->boot.text);
        free(states);
        return NULL;
    }
    return states;
}

void uvshim_states_close(uvshim_states *states) {
    if (states == NULL)
        return;
    while (states->idle != NULL) {
        idle_state *state = states->idle;
        states->idle = state->next;
        lua_close(state->L);
        free(state);
    }
    uv_mutex_destroy(&states->mutex);
    free((char *)states->boot.text);
    free(states);
}

static idle_state *take_state(uvshim_states *states) {
    idle_state *state;

    uv_mutex_lock(&states->mutex);
    state = states->idle;
    if (state != NULL)
        states->idle = state->next;
    uv_mutex_unlock(&states->mutex);
    if (state == NULL) {
        state = calloc(1, sizeof *state);
        if (state != NULL && (state->L = open_state(states->boot)) == NULL) {
            free(state);
            state = NULL;
        }
    }
    return state;
}

static void give_state_back(uvshim_states *states, idle_state *state) {
    uv_mutex_lock(&states->mutex);
    state->next = states->idle;
    states->idle = state;
    uv_mutex_unlock(&states->mutex);
}

static void do_work(uv_work_t *req) {
    uvshim_work *work = (uvshim_work *)req;
    idle_state *state = take_state(work->states);
    exchange x = {{work->message, work->size}, {NULL, 0}};

    if (state == NULL)
        return;
    run(state->L, &x);
    work->result = (char *)x.result.text;
    work->result_size = x.result.size;
    give_state_back(work->states, state);
}

int uvshim_work_queue(uvshim_queue *queue, uvshim_work *work, const char *boot, size_t boot_size,
                      const char *message, size_t size) {
    work->message = message;
    work->size = size;
    if (luaL_newstate == NULL)
        return UV_ENOSYS;
    if (queue->states == NULL && (queue->states = states_new(boot, boot_size)) == NULL)
        return UV_ENOMEM;
    work->states = queue->states;
    return uv_queue_work(queue->loop, &work->req, do_work, uvshim_on_work);
}

const char *uvshim_work_result(uvshim_work *work, size_t *size) {
    *size = work->result_size;
    return work->result;
}

void uvshim_work_drop(uvshim_work *work) {
    if (work->message != NULL)
        uvshim_message_drop(work->message);
    uvshim_message_free(work->result);
}

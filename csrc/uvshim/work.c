/*
 * Work for libuv's thread pool: a function's code and arguments go to a Lua state of the pool as a message, and
 * what it returns comes back as one. Both are made and read here, in one call each; what only Lua knows, such as
 * userdata, is left to lua/moonlap/uv/work.lua and worker.lua.
 */
#include "block.h"
#include "message.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

/* The memory of a request. */
struct uvshim_work {
    uv_work_t req;
    uvshim_states *states;
    char *result; /* a message; NULL: none */
    size_t result_size;
    size_t size;
    char message[]; /* what to do */
};

/* -- states ----------------------------------------------------------------------------------- */

/* libuv's bound for the pool. */
#define MAX_THREADS 1024

/* A state for each thread of the pool, made when the thread first has work here. */
struct uvshim_states {
    lua_State *of[MAX_THREADS];
    uvshim_bytes boot;
};

/* The pool's threads live as long as the process, and each has a number. */
static unsigned n_threads;
static __thread unsigned thread_number; /* from 1; 0: none yet */

int uvshim_work_open(uvshim_queue *queue, const char *boot, size_t boot_size) {
    uvshim_states *states;

    if (queue->states != NULL)
        return 0;
    states = calloc(1, sizeof *states);
    if (states == NULL || uvshim_bytes_copy(&states->boot, boot, boot_size) != 0) {
        free(states);
        return UV_ENOMEM;
    }
    queue->states = states;
    return 0;
}

void uvshim_states_close(uvshim_states *states) {
    if (states == NULL)
        return;
    for (int i = 0; i < MAX_THREADS; i++)
        if (states->of[i] != NULL)
            lua_close(states->of[i]);
    free((char *)states->boot.text);
    free(states);
}

/* Where a state keeps `run_work` with what it needs. */
#define RUN "moonlap.uv.work"
enum { REPORT = 1, LOADED, LOAD, RESULTS, DECODE };

static int run_work(lua_State *L);

static int prepare(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, WORKER);
    lua_getfield(L, -1, "report");
    lua_getfield(L, -2, "loaded");
    lua_getfield(L, -3, "load");
    lua_getfield(L, -4, "results");
    lua_getfield(L, -5, "decode");
    lua_pushcclosure(L, run_work, DECODE);
    lua_setfield(L, LUA_REGISTRYINDEX, RUN);
    return 0;
}

static lua_State *state_new(uvshim_states *states) {
    lua_State *L = uvshim_state_open(states->boot);

    if (L != NULL && lua_cpcall(L, prepare, NULL) != 0) {
        uvshim_state_complain(L, "Uncaught Error in thread: ");
        lua_close(L);
        L = NULL;
    }
    return L;
}

/* This thread's state, or NULL. No other thread touches it before the queue is closed. */
static lua_State *state_of_thread(uvshim_states *states) {
    lua_State **L;

    if (thread_number == 0)
        thread_number = __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
    if (thread_number > MAX_THREADS)
        return NULL;
    L = &states->of[thread_number - 1];
    if (*L == NULL)
        *L = state_new(states);
    return *L;
}

/* -- in the pool ------------------------------------------------------------------------------ */

/* Puts the function in the place of its code; returns 0 when that cannot be loaded, which Lua has said. */
static int load(lua_State *L, int at) {
    lua_pushvalue(L, at);
    lua_rawget(L, upvalue(LOADED));
    if (lua_type(L, -1) == T_NIL) {
        lua_settop(L, -2);
        lua_pushvalue(L, upvalue(LOAD));
        lua_pushvalue(L, at);
        lua_call(L, 1, 1);
    }
    if (lua_type(L, -1) != T_FUNCTION)
        return 0;
    lua_replace(L, at);
    return 1;
}

static void set_result(uvshim_work *work, lua_State *L, int first) {
    size_t size = uvshim_message_size(L, first, lua_gettop(L));
    const char *text;

    if (size > 0) {
        work->result = malloc(size);
        if (work->result != NULL)
            uvshim_message_write(L, first, lua_gettop(L), work->result);
        work->result_size = size;
        return;
    }
    lua_pushvalue(L, upvalue(RESULTS));
    lua_insert(L, first);
    lua_call(L, lua_gettop(L) - first, 1);
    text = lua_tolstring(L, -1, &work->result_size);
    if (text != NULL && (work->result = uvshim_message_copy(text, work->result_size)) == NULL)
        uvshim_message_drop(text);
}

static int run_work(lua_State *L) {
    uvshim_work *work = lua_touserdata(L, 1);
    int status;

    lua_pushvalue(L, upvalue(REPORT));
    lua_replace(L, 1);
    if (!uvshim_message_push(L, work->message, work->size)) {
        lua_pushvalue(L, upvalue(DECODE));
        lua_pushlstring(L, work->message, work->size);
        lua_call(L, 1, LUA_MULTRET);
    }
    if (!load(L, 2))
        return 0;
    status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
    if (status == 0)
        set_result(work, L, 2);
    else if (status != LUA_ERRRUN) /* of others the handler was not told */
        uvshim_state_complain(L, status == LUA_ERRMEM ? "System Error: " : "Uncaught Error: ");
    return 0;
}

static void do_work(uv_work_t *req) {
    uvshim_work *work = (uvshim_work *)req;
    lua_State *L = state_of_thread(work->states);

    if (L == NULL)
        return;
    lua_getfield(L, LUA_REGISTRYINDEX, RUN);
    lua_pushlightuserdata(L, work);
    if (lua_pcall(L, 1, 0, 0) != 0)
        uvshim_state_complain(L, "Uncaught Error in thread: ");
}

/* -- at home ---------------------------------------------------------------------------------- */

/* Work under way by its id, from 1; at a free id the next free one, as a number. */
struct uvshim_works {
    void **at;
    uint32_t count, capacity, free;
};

static uint32_t take_id(struct uvshim_works *works) {
    uint32_t id = works->free;

    if (id != 0) {
        works->free = (uint32_t)(uintptr_t)works->at[id];
        return id;
    }
    if (works->count + 1 >= works->capacity) {
        uint32_t capacity = works->capacity ? works->capacity * 2 : 64;
        void **at = realloc(works->at, capacity * sizeof *at);
        if (at == NULL)
            return 0;
        works->at = at;
        works->capacity = capacity;
    }
    return ++works->count;
}

static void give_id_back(struct uvshim_works *works, uint32_t id) {
    works->at[id] = (void *)(uintptr_t)works->free;
    works->free = id;
}

/* `count` of the module of requests, which the loop asks for. */
static void count(lua_State *L, int requests, int by) {
    lua_getfield(L, requests, "count");
    lua_pushnumber(L, lua_tonumber(L, -1) + by);
    lua_setfield(L, requests, "count");
    lua_settop(L, -2);
}

/* What the functions below have: the queue, callbacks by id, the module of requests; queue_work then also what
 * Lua knows of work (code and callback by context) and the function that does what is not done here. */
enum { QUEUE = 1, CALLBACKS, REQUESTS, CONTEXTS, SLOWLY };

static uvshim_work *work_new(lua_State *L, size_t size) {
    uvshim_queue *queue = lua_touserdata(L, upvalue(QUEUE));
    uvshim_work *work = NULL;
    uint32_t id;

    if (queue->works == NULL)
        queue->works = calloc(1, sizeof *queue->works);
    id = queue->works != NULL ? take_id(queue->works) : 0;
    if (id != 0 && (work = uvshim_block_new(queue, sizeof *work + size, 0, id)) == NULL)
        give_id_back(queue->works, id);
    if (work == NULL)
        return NULL;
    block_of(work)->is_work = 1;
    queue->works->at[id] = work;
    work->states = queue->states;
    work->size = size;
    return work;
}

/* The callback lies at the stack's index `callback`. */
static int start(lua_State *L, uvshim_work *work, int callback) {
    uvshim_queue *queue = lua_touserdata(L, upvalue(QUEUE));

    lua_pushvalue(L, callback);
    lua_rawseti(L, upvalue(CALLBACKS), (int)(uintptr_t)work->req.data);
    count(L, upvalue(REQUESTS), 1);
    queue->quiet = 0;
    uv_queue_work(queue->loop, &work->req, do_work, uvshim_on_work);
    lua_pushboolean(L, 1);
    return 1;
}

/* Of (context, …). */
static int queue_work(lua_State *L) {
    uvshim_queue *queue = lua_touserdata(L, upvalue(QUEUE));
    int n = lua_gettop(L);
    uvshim_work *work;
    size_t size;

    if (n > 0 && queue->states != NULL) {
        lua_pushvalue(L, 1);
        lua_pushvalue(L, 1);
        lua_rawget(L, upvalue(CONTEXTS));
        if (lua_type(L, -1) == T_TABLE) {
            lua_rawgeti(L, -1, 1);
            lua_replace(L, 1); /* the code stands before the arguments */
            size = uvshim_message_size(L, 1, n);
            if (size > 0) {
                work = work_new(L, size);
                if (work == NULL)
                    return luaL_error(L, "not enough memory");
                uvshim_message_write(L, 1, n, work->message);
                lua_rawgeti(L, -1, 2);
                return start(L, work, lua_gettop(L));
            }
        }
        lua_settop(L, n + 1);
        lua_replace(L, 1);
    }
    lua_pushvalue(L, upvalue(SLOWLY));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    return lua_gettop(L);
}

/* Of (callback, message). */
static int queue_message(lua_State *L) {
    size_t size;
    const char *message = lua_tolstring(L, 2, &size);
    uvshim_work *work = work_new(L, size);

    if (work == NULL) {
        uvshim_message_drop(message);
        return luaL_error(L, "not enough memory");
    }
    memcpy(work->message, message, size);
    return start(L, work, 1);
}

/* The dispatch of a record, of (id, …): returns the callback and what the work has returned. */
static int ended(lua_State *L) {
    uvshim_queue *queue = lua_touserdata(L, upvalue(QUEUE));
    uint32_t id = (uint32_t)lua_tointeger(L, 1);
    uvshim_work *work = queue->works->at[id];

    lua_settop(L, 0);
    count(L, upvalue(REQUESTS), -1);
    lua_rawgeti(L, upvalue(CALLBACKS), (int)id);
    lua_pushboolean(L, 0);
    lua_rawseti(L, upvalue(CALLBACKS), (int)id);
    if (work->result != NULL && !uvshim_message_push(L, work->result, work->result_size)) {
        lua_pushvalue(L, upvalue(4));
        lua_pushlstring(L, work->result, work->result_size);
        lua_call(L, 1, LUA_MULTRET);
    }
    give_id_back(queue->works, id);
    uvshim_free(queue, work);
    return lua_gettop(L);
}

/* Of (queue, contexts, requests, slowly, decode), see work.lua. */
int uvshim_work_functions(lua_State *L) {
    lua_settop(L, 5);
    lua_pushlightuserdata(L, (void *)(uintptr_t)lua_tonumber(L, 1));
    lua_replace(L, 1);
    lua_createtable(L, 0, 0); /* callbacks: 6 */

    lua_pushvalue(L, 1);
    lua_pushvalue(L, 6);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 4);
    lua_pushcclosure(L, queue_work, SLOWLY);

    lua_pushvalue(L, 1);
    lua_pushvalue(L, 6);
    lua_pushvalue(L, 3);
    lua_pushcclosure(L, queue_message, REQUESTS);

    lua_pushvalue(L, 1);
    lua_pushvalue(L, 6);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 5);
    lua_pushcclosure(L, ended, 4);
    return 3;
}

void uvshim_work_drop(void *req) {
    uvshim_work *work = req;

    uvshim_message_drop(work->message);
    uvshim_message_free(work->result);
}

void uvshim_works_close(struct uvshim_works *works) {
    if (works != NULL)
        free(works->at);
    free(works);
}

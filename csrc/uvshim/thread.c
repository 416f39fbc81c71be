/*
 * Threads, each with a Lua state of its own, in which the function `run` of lua/moonlap/uv/worker.lua gets a
 * message: what that means is Lua's matter.
 */
#include "state.h"
#include "uvshim.h"

#include <pthread.h>
#include <stdlib.h>

static int run_message(lua_State *L) {
    uvshim_bytes *message = lua_touserdata(L, 1);

    lua_getfield(L, LUA_REGISTRYINDEX, WORKER);
    lua_getfield(L, -1, "run");
    lua_pushlstring(L, message->text, message->size);
    lua_call(L, 1, 0);
    return 0;
}

struct uvshim_thread {
    uv_thread_t id;
    int is_joined;
};

/* What a thread owns from its start; the creator may be gone before it ends. */
typedef struct {
    uvshim_bytes boot, message;
} errand;

static void thread_main(void *arg) {
    errand *e = arg;
    lua_State *L = uvshim_state_open(e->boot);

    if (L != NULL) {
        if (lua_cpcall(L, run_message, &e->message) != 0)
            uvshim_state_complain(L, "Uncaught Error in thread: ");
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
    if (luaL_newstate != NULL && thread != NULL && e != NULL && uvshim_bytes_copy(&e->boot, boot, boot_size) == 0 &&
        uvshim_bytes_copy(&e->message, message, size) == 0)
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

int uvshim_thread_detach(uvshim_thread *thread) {
    int status = thread->is_joined ? UV_ESRCH : uv_translate_sys_error(pthread_detach(thread->id));

    thread->is_joined = thread->is_joined || status == 0;
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

/*
 * What another thread sends to an async: the last message, a string, which waits until the async's
 * own thread takes it. A mailbox belongs to one async and outlives it as long as a Lua state holds
 * it, so that sending to an async that is closed or freed is an error and nothing worse.
 */
#include "block.h"

#include <stdlib.h>
#include <string.h>

struct uvshim_mailbox {
    uvshim_held held;
    uv_mutex_t mutex;
    uv_async_t *async; /* NULL: it is closing */
    char *message;     /* NULL: none */
    size_t size;
    int holders;
};

uvshim_mailbox *uvshim_mailbox_new(uv_async_t *async) {
    uvshim_mailbox *box = calloc(1, sizeof *box);

    if (box != NULL && uv_mutex_init(&box->mutex) != 0) {
        free(box);
        box = NULL;
    }
    if (box != NULL) {
        box->held.drop = (void (*)(void *))uvshim_mailbox_drop;
        box->async = async;
        box->holders = 1;
    }
    return box;
}

void uvshim_mailbox_hold(uvshim_mailbox *box) {
    uv_mutex_lock(&box->mutex);
    box->holders++;
    uv_mutex_unlock(&box->mutex);
}

void uvshim_mailbox_drop(uvshim_mailbox *box) {
    int left;

    uv_mutex_lock(&box->mutex);
    left = --box->holders;
    uv_mutex_unlock(&box->mutex);
    if (left > 0)
        return;
    uv_mutex_destroy(&box->mutex);
    free(box);
}

/* Messages are freed outside the lock: one may hold the very mailbox in which it waits. */
static char *exchange(uvshim_mailbox *box, char *message, size_t *size) {
    char *before = box->message;
    size_t size_before = box->size;

    box->message = message;
    box->size = *size;
    *size = size_before;
    return before;
}

void uvshim_mailbox_close(uvshim_mailbox *box) {
    size_t size = 0;
    char *unread;

    uv_mutex_lock(&box->mutex);
    box->async = NULL;
    unread = exchange(box, NULL, &size);
    uv_mutex_unlock(&box->mutex);
    uvshim_message_free(unread);
}

int uvshim_mailbox_send(uvshim_mailbox *box, const char *message, size_t size) {
    char *copy = uvshim_message_copy(message, size);
    int status = UV_EINVAL;

    if (copy == NULL) {
        uvshim_message_drop(message);
        return UV_ENOMEM;
    }
    uv_mutex_lock(&box->mutex);
    if (box->async != NULL) {
        copy = exchange(box, copy, &size);
        /* Under the lock, since the async's thread may close it right afterwards. */
        status = uv_async_send(box->async);
    }
    uv_mutex_unlock(&box->mutex);
    uvshim_message_free(copy);
    return status;
}

char *uvshim_mailbox_take(uvshim_mailbox *box, size_t *size) {
    char *message;

    *size = 0;
    uv_mutex_lock(&box->mutex);
    message = exchange(box, NULL, size);
    uv_mutex_unlock(&box->mutex);
    return message;
}

/* -- messages --------------------------------------------------------------------------------- */

char *uvshim_message_copy(const char *message, size_t size) {
    char *copy = malloc(size);

    return copy != NULL ? memcpy(copy, message, size) : NULL;
}

static double number_at(const char *message, size_t index) {
    double number;

    memcpy(&number, message + index * sizeof number, sizeof number);
    return number;
}

void uvshim_message_drop(const char *message) {
    size_t i, count = (size_t)number_at(message, 0);

    for (i = 1; i <= count; i++) {
        uvshim_held *held = (uvshim_held *)(uintptr_t)number_at(message, i);
        held->drop(held);
    }
}

void uvshim_message_free(char *message) {
    if (message == NULL)
        return;
    uvshim_message_drop(message);
    free(message);
}

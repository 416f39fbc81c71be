/* What calls back, so many times: with nothing, with one pointer, with three arguments and a result;
 * and what does not: it appends records to a vector, for the caller to read. */
#include <stdint.h>

void call_0(void (*callback)(void), int n) {
    while (n-- > 0)
        callback();
}

void call_1(void (*callback)(void *), void *handle, int n) {
    while (n-- > 0)
        callback(handle);
}

int call_3(int (*callback)(void *, long, void *), void *handle, int n) {
    int sum = 0;

    while (n-- > 0)
        sum += callback(handle, n, handle);
    return sum;
}

typedef struct {
    uint32_t kind, id;
    int32_t result;
    uint32_t extra;
    void *data;
} event;

void append(event *events, void *handle, int n) {
    for (int i = 0; i < n; i++)
        events[i] = (event){1, 1, i, 0, handle};
}

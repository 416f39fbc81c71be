/*
 * A write without a request that is one system call, see kernel.h. What libuv asks of a stream before
 * it writes is asked here, too; where the answer is not the usual one, libuv writes.
 */
#include "kernel.h"
#include "uvshim.h"

#ifdef __linux__
#include <sys/syscall.h>

int uvshim_try_write(uv_stream_t *stream, const uv_buf_t *list, unsigned n) {
    int fd = stream->io_watcher.fd;

    if (n == 1 && fd >= 0 && stream->connect_req == NULL && stream->write_queue_size == 0 &&
        uv_is_writable(stream))
        return uvshim_kernel(SYS_write, fd, (long)list->base, (long)list->len, 0, 0);
    return uv_try_write(stream, list, n);
}
#else
int uvshim_try_write(uv_stream_t *stream, const uv_buf_t *list, unsigned n) {
    return uv_try_write(stream, list, n);
}
#endif

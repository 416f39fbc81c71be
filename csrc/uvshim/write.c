/*
 * A write and a shutdown without a request, which are one system call each, see kernel.h. What libuv asks of a stream before
 * it writes is asked here, too; where the answer is not the usual one, libuv writes.
 */
#include "block.h"
#include "kernel.h"

#ifdef __linux__
#include <sys/socket.h>
#include <sys/syscall.h>

/* The fields lie where the headers have them that this was compiled with. That they do so in the library, which
 * may be of another version, is asked of the first stream that has a descriptor; where not, libuv writes. */
static int layout_is_known(const uv_stream_t *stream) {
    static int known; /* 1: they do, -1: they don't; all threads would answer alike */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    uv_os_fd_t fd;

    if (answer == 0 && uv_fileno((const uv_handle_t *)stream, &fd) == 0) {
        answer = uv_handle_size(UV_TCP) == sizeof(uv_tcp_t) && uv_handle_size(UV_NAMED_PIPE) == sizeof(uv_pipe_t) &&
                         uv_handle_size(UV_TTY) == sizeof(uv_tty_t) &&
                         uv_req_size(UV_CONNECT) == sizeof(uv_connect_t) && fd == stream->io_watcher.fd &&
                         uv_stream_get_write_queue_size(stream) == stream->write_queue_size
                     ? 1
                     : -1;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 1;
}

static int can_write(const uv_stream_t *stream) {
    return layout_is_known(stream) && stream->io_watcher.fd >= 0 && stream->connect_req == NULL &&
           stream->write_queue_size == 0 && uv_is_writable(stream);
}

int uvshim_try_write(uv_stream_t *stream, const uv_buf_t *list, unsigned n) {
    ((uvshim_queue *)stream->loop->data)->quiet = 0;
    if (n == 1 && can_write(stream))
        return uvshim_kernel(SYS_write, stream->io_watcher.fd, (long)list->base, (long)list->len, 0, 0);
    return uv_try_write(stream, list, n);
}

/* libuv waits until the stream can be written to, by two changes of the kernel's set of descriptors and a poll. */
int uvshim_try_shutdown(uv_stream_t *stream) {
    unsigned before = stream->flags;

    ((uvshim_queue *)stream->loop->data)->quiet = 0;
    if ((stream->type != UV_TCP && stream->type != UV_NAMED_PIPE) || !can_write(stream) || stream->shutdown_req != NULL)
        return UV_EAGAIN;
    stream->flags &= ~(unsigned)UVSHIM_WRITABLE;
    if (!uv_is_writable(stream) && shutdown(stream->io_watcher.fd, SHUT_WR) == 0)
        return 0;
    stream->flags = before;
    return UV_EAGAIN;
}
#else
int uvshim_try_shutdown(uv_stream_t *stream) {
    (void)stream;
    return UV_EAGAIN;
}

int uvshim_try_write(uv_stream_t *stream, const uv_buf_t *list, unsigned n) {
    ((uvshim_queue *)stream->loop->data)->quiet = 0;
    return uv_try_write(stream, list, n);
}
#endif

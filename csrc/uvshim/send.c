/*
 * A datagram without a request, which is one system call, see kernel.h. What libuv asks of a handle before
 * it sends is asked here, too; where the answer is not the usual one, libuv sends.
 */
#include "block.h"
#include "kernel.h"

int uvshim_udp_connect(uv_udp_t *udp, const struct sockaddr *to) {
    block_of(udp)->is_plain = 0;
    return uv_udp_connect(udp, to);
}

#ifdef __linux__
#include <stdlib.h>
#include <sys/socket.h>

struct uvshim_letter {
    struct msghdr head;
};

enum { UNKNOWN, PLAIN, NOT_PLAIN };

/* Has it a socket that is not connected, and lies its descriptor where the headers have it? */
static int is_plain(uv_udp_t *udp) {
    uvshim_block *block = block_of(udp);
    struct sockaddr_storage peer;
    int size = sizeof peer;
    uv_os_fd_t fd;

    if (block->is_plain == UNKNOWN && uv_fileno((uv_handle_t *)udp, &fd) == 0)
        block->is_plain = uv_handle_size(UV_UDP) == sizeof(uv_udp_t) && fd == udp->io_watcher.fd &&
                                  uv_udp_getpeername(udp, (struct sockaddr *)&peer, &size) == UV_ENOTCONN
                              ? PLAIN
                              : NOT_PLAIN;
    return block->is_plain == PLAIN && !uv_is_closing((uv_handle_t *)udp) &&
           uv_udp_get_send_queue_count(udp) == 0;
}

int uvshim_udp_send(uv_udp_t *udp, const uv_buf_t *list, unsigned n, const struct sockaddr *to) {
    uvshim_queue *queue = udp->loop->data;

    queue->quiet = 0;
    if (queue->letter == NULL)
        queue->letter = calloc(1, sizeof *queue->letter);
    if (n != 1 || to == NULL || queue->letter == NULL || !is_plain(udp))
        return uv_udp_try_send(udp, list, n, to);
    queue->letter->head = (struct msghdr){
        .msg_name = (void *)(uintptr_t)to,
        .msg_namelen = to->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in),
        .msg_iov = (struct iovec *)(uintptr_t)list,
        .msg_iovlen = n,
    };
    return uvshim_kernel(SYS_sendmsg, udp->io_watcher.fd, (long)&queue->letter->head, 0, 0, 0);
}
#else
int uvshim_udp_send(uv_udp_t *udp, const uv_buf_t *list, unsigned n, const struct sockaddr *to) {
    ((uvshim_queue *)udp->loop->data)->quiet = 0;
    return uv_udp_try_send(udp, list, n, to);
}
#endif

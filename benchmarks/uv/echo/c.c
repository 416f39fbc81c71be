/* echo KIND CONNECTIONS TRIPS: so many round trips of 64 bytes over all connections together, by tcp or
 * pipe; both ends in this process and loop. The best that C does: one buffer for all reads, uv_try_write. */
#include "measure.h"

#include <unistd.h>

typedef union {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
} socket_handle;

typedef struct {
    socket_handle socket;
    uv_connect_t connect;
    long left;
} client;

static socket_handle server;
static int is_pipe;
static client *clients;
static long connections, connected, finished, done;
static char buffer[65536], message[64];
static double start;

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle, (void)suggested;
    *buf = uv_buf_init(buffer, sizeof buffer);
}

static void on_close(uv_handle_t *handle) { free(handle); }

static void send_to(uv_stream_t *stream, char *data, ssize_t n) {
    uv_buf_t buf = uv_buf_init(data, (unsigned)n);
    if (uv_try_write(stream, &buf, 1) != n)
        abort();
}

static void on_server_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    if (n > 0)
        send_to(stream, buf->base, n);
    else if (n < 0)
        uv_close((uv_handle_t *)stream, on_close);
}

static void init(uv_loop_t *loop, socket_handle *handle) {
    must(is_pipe ? uv_pipe_init(loop, &handle->pipe, 0) : uv_tcp_init(loop, &handle->tcp));
}

static void on_connection(uv_stream_t *stream, int status) {
    socket_handle *peer = malloc(sizeof *peer);

    must(status);
    init(stream->loop, peer);
    must(uv_accept(stream, &peer->stream));
    must(uv_read_start(&peer->stream, on_alloc, on_server_read));
}

static void on_client_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    client *c = (client *)stream;

    (void)buf;
    must((int)n);
    if (n == 0)
        return;
    done++;
    if (--c->left > 0) {
        send_to(stream, message, sizeof message);
        return;
    }
    uv_close((uv_handle_t *)stream, NULL);
    if (++finished == connections)
        uv_close(&server.handle, NULL);
}

static void on_connect(uv_connect_t *req, int status) {
    must(status);
    must(uv_read_start(req->handle, on_alloc, on_client_read));
    if (++connected < connections)
        return;
    start = cpu_seconds();
    for (long i = 0; i < connections; i++)
        send_to(&clients[i].socket.stream, message, sizeof message);
}

static void listen_by_pipe(uv_loop_t *loop, char *path) {
    int fd = mkstemp(path);

    if (fd < 0 || close(fd) != 0 || unlink(path) != 0)
        abort();
    init(loop, &server);
    must(uv_pipe_bind(&server.pipe, path));
    must(uv_listen(&server.stream, 512, on_connection));
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    long trips = atol(argv[3]);
    char path[] = "/tmp/moonlap-echo-XXXXXX";
    struct sockaddr_in address;

    (void)argc;
    is_pipe = strcmp(argv[1], "pipe") == 0;
    connections = atol(argv[2]);
    if (is_pipe)
        listen_by_pipe(loop, path);
    else
        address = listen_on(loop, &server.tcp, on_connection);
    memset(message, 'x', sizeof message);
    clients = calloc((size_t)connections, sizeof *clients);
    for (long i = 0; i < connections; i++) {
        client *c = &clients[i];
        c->left = trips / connections;
        init(loop, &c->socket);
        if (is_pipe)
            uv_pipe_connect(&c->connect, &c->socket.pipe, path, on_connect);
        else
            must(uv_tcp_connect(&c->connect, &c->socket.tcp, (struct sockaddr *)&address, on_connect));
    }
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, done);
    return 0;
}

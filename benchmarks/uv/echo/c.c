/* echo CONNECTIONS TRIPS: so many round trips of 64 bytes over all connections together; both ends
 * in this process and loop. The best that C does: one buffer for all reads, uv_try_write. */
#include "measure.h"

typedef struct {
    uv_tcp_t tcp;
    uv_connect_t connect;
    long left;
} client;

static uv_tcp_t server;
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

static void on_connection(uv_stream_t *stream, int status) {
    uv_tcp_t *tcp = malloc(sizeof *tcp);

    must(status);
    must(uv_tcp_init(stream->loop, tcp));
    must(uv_accept(stream, (uv_stream_t *)tcp));
    must(uv_read_start((uv_stream_t *)tcp, on_alloc, on_server_read));
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
        uv_close((uv_handle_t *)&server, NULL);
}

static void on_connect(uv_connect_t *req, int status) {
    must(status);
    must(uv_read_start(req->handle, on_alloc, on_client_read));
    if (++connected < connections)
        return;
    start = cpu_seconds();
    for (long i = 0; i < connections; i++)
        send_to((uv_stream_t *)&clients[i].tcp, message, sizeof message);
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    long trips = atol(argv[2]);
    struct sockaddr_in address = listen_on(loop, &server, on_connection);

    (void)argc;
    connections = atol(argv[1]);
    memset(message, 'x', sizeof message);
    clients = calloc((size_t)connections, sizeof *clients);
    for (long i = 0; i < connections; i++) {
        client *c = &clients[i];
        c->left = trips / connections;
        must(uv_tcp_init(loop, &c->tcp));
        must(uv_tcp_connect(&c->connect, &c->tcp, (struct sockaddr *)&address, on_connect));
    }
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, done);
}

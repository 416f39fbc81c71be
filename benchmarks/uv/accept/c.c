/* accept N FLIGHT: N connections, so many at a time: the server accepts and closes each, the
 * client sees the end and closes too. */
#include "measure.h"

static uv_tcp_t server;
static struct sockaddr_in address;
static long n, started, finished;
static char buffer[65536];

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle, (void)suggested;
    *buf = uv_buf_init(buffer, sizeof buffer);
}

static void on_close(uv_handle_t *handle) { free(handle); }

static void start_one(void);

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
    (void)buf;
    if (got >= 0)
        return;
    uv_close((uv_handle_t *)stream, on_close);
    finished++;
    if (started < n)
        start_one();
    else if (finished == n)
        uv_close((uv_handle_t *)&server, NULL);
}

static void on_connect(uv_connect_t *req, int status) {
    must(status);
    must(uv_read_start(req->handle, on_alloc, on_read));
    free(req);
}

static void start_one(void) {
    uv_tcp_t *tcp = malloc(sizeof *tcp);
    uv_connect_t *req = malloc(sizeof *req);

    started++;
    must(uv_tcp_init(server.loop, tcp));
    must(uv_tcp_connect(req, tcp, (struct sockaddr *)&address, on_connect));
}

static void on_connection(uv_stream_t *stream, int status) {
    uv_tcp_t *tcp = malloc(sizeof *tcp);

    must(status);
    must(uv_tcp_init(stream->loop, tcp));
    must(uv_accept(stream, (uv_stream_t *)tcp));
    uv_close((uv_handle_t *)tcp, on_close);
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    long flight = atol(argv[2]);
    double start;

    (void)argc;
    n = atol(argv[1]);
    address = listen_on(loop, &server, on_connection);
    start = cpu_seconds();
    for (long i = 0; i < flight && i < n; i++)
        start_one();
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, finished);
}

/* short N FLIGHT: N short connections, so many at a time: a request, an answer, both ends close. */
#include "measure.h"

typedef struct {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    uv_shutdown_t shutdown;
    char text[32];
    size_t got;
} end;

static uv_tcp_t server;
static struct sockaddr_in address;
static long n, started, finished;
static char buffer[65536];

static void start_one(void);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle, (void)suggested;
    *buf = uv_buf_init(buffer, sizeof buffer);
}

static void on_peer_closed(uv_handle_t *handle) { free(handle); }

static void on_shutdown(uv_shutdown_t *req, int status) {
    must(status);
    uv_close((uv_handle_t *)req->handle, on_peer_closed);
}

static void on_answered(uv_write_t *req, int status) {
    end *e = (end *)req->handle;

    must(status);
    must(uv_shutdown(&e->shutdown, req->handle, on_shutdown));
}

static void on_request(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
    end *e = (end *)stream;
    uv_buf_t answer;

    (void)buf;
    if (got <= 0)
        return;
    answer = uv_buf_init(e->text, (unsigned)sprintf(e->text, "answer to %d", (int)got));
    must(uv_write(&e->write, stream, &answer, 1, on_answered));
}

static void on_connection(uv_stream_t *stream, int status) {
    end *e = calloc(1, sizeof *e);

    must(status);
    must(uv_tcp_init(stream->loop, &e->tcp));
    must(uv_accept(stream, (uv_stream_t *)e));
    must(uv_read_start((uv_stream_t *)e, on_alloc, on_request));
}

static void on_client_closed(uv_handle_t *handle) {
    end *e = (end *)handle;

    if (e->got != 11 || memcmp(e->text, "answer to 7", 11) != 0)
        abort();
    free(e);
    finished++;
    if (started < n)
        start_one();
    else if (finished == n)
        uv_close((uv_handle_t *)&server, NULL);
}

static void on_answer(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
    end *e = (end *)stream;

    if (got > 0) {
        memcpy(e->text + e->got, buf->base, (size_t)got);
        e->got += (size_t)got;
    } else if (got < 0) {
        uv_close((uv_handle_t *)stream, on_client_closed);
    }
}

static void on_written(uv_write_t *req, int status) {
    (void)req;
    must(status);
}

static void on_connect(uv_connect_t *req, int status) {
    end *e = (end *)req->handle;
    uv_buf_t request = uv_buf_init("request", 7);

    must(status);
    must(uv_write(&e->write, req->handle, &request, 1, on_written));
    must(uv_read_start(req->handle, on_alloc, on_answer));
}

static void start_one(void) {
    end *e = calloc(1, sizeof *e);

    started++;
    must(uv_tcp_init(server.loop, &e->tcp));
    must(uv_tcp_connect(&e->connect, &e->tcp, (struct sockaddr *)&address, on_connect));
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

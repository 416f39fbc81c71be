/* bulk MIB: so much over one connection within this process, as a chain of writes of 64 KiB, four
 * of them under way at a time. */
#include "measure.h"

#define BLOCK 65536

static uv_tcp_t server, client;
static long long total, sent, received;
static char buffer[BLOCK], block[BLOCK];
static uv_connect_t connect_req;
static uv_write_t writes[4];
static double start;

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle, (void)suggested;
    *buf = uv_buf_init(buffer, sizeof buffer);
}

static void on_close(uv_handle_t *handle) { free(handle); }

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    (void)buf;
    if (n > 0) {
        received += n;
    } else if (n < 0) {
        uv_close((uv_handle_t *)stream, on_close);
        uv_close((uv_handle_t *)&server, NULL);
    }
}

static void on_connection(uv_stream_t *stream, int status) {
    uv_tcp_t *tcp = malloc(sizeof *tcp);

    must(status);
    must(uv_tcp_init(stream->loop, tcp));
    must(uv_accept(stream, (uv_stream_t *)tcp));
    must(uv_read_start((uv_stream_t *)tcp, on_alloc, on_read));
}

static void on_write(uv_write_t *req, int status) {
    uv_buf_t buf = uv_buf_init(block, BLOCK);

    if (sent < total) {
        must(status);
        sent += BLOCK;
        must(uv_write(req, (uv_stream_t *)&client, &buf, 1, on_write));
    } else if (!uv_is_closing((uv_handle_t *)&client)) {
        uv_close((uv_handle_t *)&client, NULL);
    }
}

static void on_connect(uv_connect_t *req, int status) {
    (void)req;
    must(status);
    start = cpu_seconds();
    for (int i = 0; i < 4; i++)
        on_write(&writes[i], 0);
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    struct sockaddr_in address = listen_on(loop, &server, on_connection);

    (void)argc;
    total = atoll(argv[1]) << 20;
    memset(block, 'y', sizeof block);
    must(uv_tcp_init(loop, &client));
    must(uv_tcp_connect(&connect_req, &client, (struct sockaddr *)&address, on_connect));
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, (double)received / (1 << 20));
}

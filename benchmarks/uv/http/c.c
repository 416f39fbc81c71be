/* http CONNECTIONS REQUESTS: HTTP/1.1 over kept connections, both ends in this process; the head of
 * each request and answer is parsed, line by line, into a table of pointers and lengths. */
#define _GNU_SOURCE /* memmem */
#include "measure.h"

#define REQUEST                                                                                    \
    "GET /index.html HTTP/1.1\r\nHost: localhost\r\nUser-Agent: benchmark\r\nAccept: */*\r\nConnection: " \
    "keep-alive\r\n\r\n"
#define BODY "Hello, world!"
#define MOST_HEADERS 16

typedef struct {
    uv_tcp_t tcp;
    uv_connect_t connect;
    char text[4096];
    size_t got;
    long left;
} end;

typedef struct {
    const char *text;
    size_t size;
} piece;

typedef struct {
    piece first, names[MOST_HEADERS], values[MOST_HEADERS];
    int n;
    size_t size;
} head;

static uv_tcp_t server;
static struct sockaddr_in address;
static long done, connections_left;
static char buffer[65536];

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle, (void)suggested;
    *buf = uv_buf_init(buffer, sizeof buffer);
}

static int parse(const end *e, head *h) {
    const char *last = memmem(e->text, e->got, "\r\n\r\n", 4), *at;

    if (last == NULL)
        return 0;
    at = memmem(e->text, e->got, "\r\n", 2);
    h->first = (piece){e->text, (size_t)(at - e->text)};
    for (h->n = 0; at < last && h->n < MOST_HEADERS; h->n++) {
        const char *colon = memchr(at + 2, ':', (size_t)(last - at));
        const char *line_end = memmem(colon, e->got - (size_t)(colon - e->text), "\r\n", 2);
        h->names[h->n] = (piece){at + 2, (size_t)(colon - at - 2)};
        h->values[h->n] = (piece){colon + 2, (size_t)(line_end - colon - 2)};
        at = line_end;
    }
    h->size = (size_t)(last + 4 - e->text);
    return 1;
}

static piece header(const head *h, const char *name) {
    for (int i = 0; i < h->n; i++)
        if (h->names[i].size == strlen(name) && strncasecmp(h->names[i].text, name, h->names[i].size) == 0)
            return h->values[i];
    return (piece){"", 0};
}

static void send_to(uv_stream_t *stream, const char *text, size_t size) {
    uv_buf_t buf = uv_buf_init((char *)text, (unsigned)size);
    if (uv_try_write(stream, &buf, 1) != (int)size)
        abort();
}

static void take(end *e, size_t size) {
    memmove(e->text, e->text + size, e->got - size);
    e->got -= size;
}

static int append(end *e, ssize_t n, const uv_buf_t *buf) {
    if (n <= 0)
        return 0;
    memcpy(e->text + e->got, buf->base, (size_t)n);
    e->got += (size_t)n;
    return 1;
}

static void on_close(uv_handle_t *handle) { free(handle); }

static void on_request(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    end *e = (end *)stream;
    char answer[256];
    head h;

    if (n < 0)
        uv_close((uv_handle_t *)stream, on_close);
    if (!append(e, n, buf) || !parse(e, &h))
        return;
    if (h.first.size != 24 || memcmp(h.first.text, "GET /index.html HTTP/1.1", 24) != 0 ||
        memcmp(header(&h, "host").text, "localhost", 9) != 0)
        abort();
    n = snprintf(answer, sizeof answer,
                 "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: %.*s\r\n\r\n%s",
                 (int)strlen(BODY), (int)header(&h, "connection").size, header(&h, "connection").text, BODY);
    take(e, h.size);
    send_to(stream, answer, (size_t)n);
}

static void on_connection(uv_stream_t *stream, int status) {
    end *e = calloc(1, sizeof *e);

    must(status);
    must(uv_tcp_init(stream->loop, &e->tcp));
    must(uv_accept(stream, (uv_stream_t *)e));
    must(uv_read_start((uv_stream_t *)e, on_alloc, on_request));
}

static void on_answer(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
    end *e = (end *)stream;
    size_t size;
    head h;

    must((int)n);
    if (!append(e, n, buf) || !parse(e, &h))
        return;
    size = (size_t)atoi(header(&h, "content-length").text);
    if (e->got < h.size + size)
        return;
    if (memcmp(h.first.text, "HTTP/1.1 200 OK", h.first.size) != 0 || memcmp(e->text + h.size, BODY, size) != 0)
        abort();
    take(e, h.size + size);
    done++;
    if (--e->left > 0) {
        send_to(stream, REQUEST, strlen(REQUEST));
        return;
    }
    uv_close((uv_handle_t *)stream, on_close);
    if (--connections_left == 0)
        uv_close((uv_handle_t *)&server, NULL);
}

static void on_connect(uv_connect_t *req, int status) {
    must(status);
    must(uv_read_start(req->handle, on_alloc, on_answer));
    send_to(req->handle, REQUEST, strlen(REQUEST));
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    long connections = atol(argv[1]), requests = atol(argv[2]);
    double start;

    (void)argc;
    address = listen_on(loop, &server, on_connection);
    connections_left = connections;
    start = cpu_seconds();
    for (long i = 0; i < connections; i++) {
        end *e = calloc(1, sizeof *e);
        e->left = requests / connections;
        must(uv_tcp_init(loop, &e->tcp));
        must(uv_tcp_connect(&e->connect, &e->tcp, (struct sockaddr *)&address, on_connect));
    }
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, done);
}

/* udp TRIPS: so many round trips of 64 bytes between two sockets of this process. */
#include "measure.h"

static uv_udp_t server, client;
static struct sockaddr_in server_address;
static long trips, done;
static char buffer[65536], message[64];

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle, (void)suggested;
    *buf = uv_buf_init(buffer, sizeof buffer);
}

static void send_to(uv_udp_t *from, char *data, ssize_t n, const struct sockaddr *to) {
    uv_buf_t buf = uv_buf_init(data, (unsigned)n);
    if (uv_udp_try_send(from, &buf, 1, to) != n)
        abort();
}

static void on_server(uv_udp_t *udp, ssize_t n, const uv_buf_t *buf, const struct sockaddr *from, unsigned flags) {
    (void)flags;
    if (from != NULL)
        send_to(udp, buf->base, n, from);
}

static void on_client(uv_udp_t *udp, ssize_t n, const uv_buf_t *buf, const struct sockaddr *from, unsigned flags) {
    (void)flags, (void)n, (void)buf;
    if (from == NULL)
        return;
    if (++done < trips) {
        send_to(udp, message, sizeof message, (struct sockaddr *)&server_address);
    } else {
        uv_close((uv_handle_t *)&server, NULL);
        uv_close((uv_handle_t *)&client, NULL);
    }
}

static void open_udp(uv_loop_t *loop, uv_udp_t *udp, uv_udp_recv_cb cb) {
    struct sockaddr_in any;

    must(uv_ip4_addr("127.0.0.1", 0, &any));
    must(uv_udp_init(loop, udp));
    must(uv_udp_bind(udp, (struct sockaddr *)&any, 0));
    must(uv_udp_recv_start(udp, on_alloc, cb));
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    int size = sizeof server_address;
    double start;

    (void)argc;
    trips = atol(argv[1]);
    memset(message, 'x', sizeof message);
    open_udp(loop, &server, on_server);
    open_udp(loop, &client, on_client);
    must(uv_udp_getsockname(&server, (struct sockaddr *)&server_address, &size));
    start = cpu_seconds();
    send_to(&client, message, sizeof message, (struct sockaddr *)&server_address);
    uv_run(loop, UV_RUN_DEFAULT);
    report(cpu_seconds() - start, done);
}

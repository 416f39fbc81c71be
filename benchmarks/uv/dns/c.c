/* dns N: the addresses of a host given as a number, N times, four at a time. */
#include "measure.h"

static long n, started, done;
static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};

static void start_one(void);

static void on_addresses(uv_getaddrinfo_t *req, int status, struct addrinfo *list) {
    char text[64];

    must(status);
    must(uv_ip4_name((struct sockaddr_in *)list->ai_addr, text, sizeof text));
    if (strcmp(text, "127.0.0.1") != 0 || ((struct sockaddr_in *)list->ai_addr)->sin_port != htons(80))
        abort();
    uv_freeaddrinfo(list);
    free(req);
    done++;
    if (started < n)
        start_one();
}

static void start_one(void) {
    started++;
    must(uv_getaddrinfo(uv_default_loop(), malloc(sizeof(uv_getaddrinfo_t)), on_addresses, "127.0.0.1", "80", &hints));
}

int main(int argc, char **argv) {
    double start;

    (void)argc;
    n = atol(argv[1]);
    start = cpu_seconds();
    for (int i = 0; i < 4; i++)
        start_one();
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    report(cpu_seconds() - start, done);
}

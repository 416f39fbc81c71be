/* What the C programs share: process CPU time around the work, printed as `seconds operations`. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(double seconds, double operations) {
    printf("%.6f %.0f\n", seconds, operations);
}

/* Ends the program when libuv says that something failed. */
static inline void must(int status) {
    if (status < 0) {
        fprintf(stderr, "%s\n", uv_strerror(status));
        exit(1);
    }
}

/* A loopback socket that listens; returns where. */
static inline struct sockaddr_in listen_on(uv_loop_t *loop, uv_tcp_t *server, uv_connection_cb cb) {
    struct sockaddr_in address;
    int size = sizeof address;

    must(uv_ip4_addr("127.0.0.1", 0, &address));
    must(uv_tcp_init(loop, server));
    must(uv_tcp_bind(server, (struct sockaddr *)&address, 0));
    must(uv_listen((uv_stream_t *)server, 512, cb));
    must(uv_tcp_getsockname(server, (struct sockaddr *)&address, &size));
    return address;
}

#endif

/*
 * The open-loop truth: requests leave when they are due, each on a socket of its own that is free, and their
 * latency counts from the due time. It spins, so that it is never late because it slept.
 *
 *     truth PORT RATE SECONDS SOCKETS    prints the latencies, ns, one a line
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

int main(int argc, char **argv) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static char buffer[65536];
    int port, sockets, epoll = epoll_create1(0), free_count = 0, one = 1;
    double rate, seconds;

    if (argc != 5)
        return fprintf(stderr, "truth PORT RATE SECONDS SOCKETS\n"), 2;
    port = atoi(argv[1]), rate = atof(argv[2]), seconds = atof(argv[3]), sockets = atoi(argv[4]);
    int *fds = calloc(sockets, sizeof *fds), *free_list = calloc(sockets, sizeof *free_list);
    int64_t *due_of = calloc(sockets, sizeof *due_of);
    int64_t total = rate * seconds, sent = 0, done = 0, *latency = calloc(total, sizeof *latency);
    struct epoll_event events[256], event = {.events = EPOLLIN | EPOLLET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};

    for (int i = 0; i < sockets; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (fds[i] < 0 || connect(fds[i], (void *)&to, sizeof to) != 0)
            die("connect");
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        event.data.u32 = i;
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event) != 0)
            die("epoll_ctl");
        free_list[free_count++] = i;
    }
    int64_t begin = now(), limit = begin + (int64_t)((seconds + 5) * 1e9);
    while (done < total) {
        int64_t t = now();

        if (t > limit)
            return fprintf(stderr, "truth: %lld of %lld answered\n", (long long)done, (long long)total), 1;
        while (sent < total) {
            int64_t due = begin + (int64_t)(sent / rate * 1e9);
            if (due > t)
                break;
            if (free_count == 0)
                return fprintf(stderr, "truth: more sockets are needed\n"), 1;
            int i = free_list[--free_count];
            due_of[i] = due;
            if (send(fds[i], request, sizeof request - 1, MSG_NOSIGNAL) != (ssize_t)sizeof request - 1)
                die("send");
            sent++;
        }
        int n = epoll_wait(epoll, events, 256, 0);
        for (int k = 0; k < n; k++) {
            int i = events[k].data.u32;
            ssize_t size = recv(fds[i], buffer, sizeof buffer, MSG_DONTWAIT);
            if (size <= 0 && errno != EAGAIN)
                die("recv");
            if (size > 0) { /* the response is small: one piece */
                latency[done++] = now() - due_of[i];
                free_list[free_count++] = i;
            }
        }
    }
    for (int64_t i = 0; i < done; i++)
        printf("%lld\n", (long long)latency[i]);
    return 0;
}

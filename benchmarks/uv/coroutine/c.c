/* coroutine CONNECTIONS TRIPS: what C has in place of coroutines are callbacks, those of echo by tcp. */
#define main echo
#include "../echo/c.c"
#undef main

int main(int argc, char **argv) {
    char *args[] = {argv[0], "tcp", argv[1], argv[2], NULL};

    return echo(argc + 1, args);
}

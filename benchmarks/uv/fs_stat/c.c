/* fs_stat N FILE: N times a file's status, synchronously. */
#include "measure.h"

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    long n = atol(argv[1]);
    uint64_t size = 0;
    double start = cpu_seconds();

    (void)argc;
    for (long i = 0; i < n; i++) {
        uv_fs_t req;
        must(uv_fs_stat(loop, &req, argv[2], NULL));
        size += req.statbuf.st_size;
        uv_fs_req_cleanup(&req);
    }
    report(cpu_seconds() - start, (double)n);
    return size == 0;
}

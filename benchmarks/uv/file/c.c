/* file MODE N PATH: N times a file is opened, its statistics asked, 4 KiB read, and it is closed.
 * MODE: sync, or async with callbacks, four files at a time. */
#include "measure.h"

typedef struct {
    uv_fs_t req;
    uv_file fd;
    uint64_t size;
    char text[4096];
} file;

static long n, started, done;
static const char *path;

static void start_one(file *f);

static size_t expected(const file *f) { return f->size < sizeof f->text ? f->size : sizeof f->text; }

static int result(uv_fs_t *req) {
    int value = (int)req->result;
    must(value);
    uv_fs_req_cleanup(req);
    return value;
}

static void on_closed(uv_fs_t *req) {
    result(req);
    done++;
    if (started < n)
        start_one((file *)req);
}

static void on_read(uv_fs_t *req) {
    file *f = (file *)req;

    if ((size_t)result(req) != expected(f))
        abort();
    must(uv_fs_close(req->loop, req, f->fd, on_closed));
}

static void on_stat(uv_fs_t *req) {
    file *f = (file *)req;
    uv_buf_t buf = uv_buf_init(f->text, sizeof f->text);

    f->size = req->statbuf.st_size;
    result(req);
    must(uv_fs_read(req->loop, req, f->fd, &buf, 1, 0, on_read));
}

static void on_open(uv_fs_t *req) {
    file *f = (file *)req;

    f->fd = result(req);
    must(uv_fs_fstat(req->loop, req, f->fd, on_stat));
}

static void start_one(file *f) {
    started++;
    must(uv_fs_open(uv_default_loop(), &f->req, path, UV_FS_O_RDONLY, 0666, on_open));
}

static void sync_all(uv_loop_t *loop) {
    file f;
    uv_buf_t buf = uv_buf_init(f.text, sizeof f.text);

    for (; done < n; done++) {
        uv_fs_open(loop, &f.req, path, UV_FS_O_RDONLY, 0666, NULL);
        f.fd = result(&f.req);
        uv_fs_fstat(loop, &f.req, f.fd, NULL);
        f.size = f.req.statbuf.st_size;
        result(&f.req);
        uv_fs_read(loop, &f.req, f.fd, &buf, 1, 0, NULL);
        if ((size_t)result(&f.req) != expected(&f))
            abort();
        uv_fs_close(loop, &f.req, f.fd, NULL);
        result(&f.req);
    }
}

int main(int argc, char **argv) {
    uv_loop_t *loop = uv_default_loop();
    static file files[4];
    double start;

    (void)argc;
    n = atol(argv[2]), path = argv[3];
    start = cpu_seconds();
    if (strcmp(argv[1], "sync") == 0) {
        sync_all(loop);
    } else {
        for (int i = 0; i < 4; i++)
            start_one(&files[i]);
        uv_run(loop, UV_RUN_DEFAULT);
    }
    report(cpu_seconds() - start, done);
}

/*
 * Children by posix_spawn and a descriptor of the process: fork, which libuv takes up to 1.52, has the kernel copy
 * this process's page tables, and then each page that it writes to, so that a child costs the more the larger the
 * Lua heap is. What posix_spawn cannot do or does otherwise than libuv is left to libuv.
 */
#include "block.h"

#ifdef __linux__
#include <sys/syscall.h>
#endif

#ifdef SYS_pidfd_open
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What a descriptor of the child is made of. */
typedef struct {
    int source; /* a descriptor of ours; -1: none */
    int is_ours; /* `source` was made here */
    int parent_end; /* of a new pipe, for the stream; -1: none */
} end;

/* -- what is left to libuv --------------------------------------------------------------------- */

/* libuv looks for programs in the child's PATH, posix_spawnp in ours. */
static int has_our_path(char **env) {
    const char *path = getenv("PATH");

    for (; *env != NULL; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return path != NULL && strcmp(*env + 5, path) == 0;
    return path == NULL;
}

/* Nobody hears how a child has ended whose parent ignores SIGCHLD; libuv sets a handler. */
static int hears_of_children(void) {
    struct sigaction action;

    return sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
           !(action.sa_flags & SA_NOCLDWAIT);
}

static int can_spawn(const uv_process_options_t *options) {
    return !(options->flags & (UV_PROCESS_SETUID | UV_PROCESS_SETGID)) &&
           (options->env == NULL || strchr(options->file, '/') != NULL || has_our_path(options->env)) &&
           hears_of_children();
}

/* -- descriptors ------------------------------------------------------------------------------- */

static int open_end(const uv_stdio_container_t *stdio, end *e) {
    int pair[2];

    if (stdio->flags & UV_CREATE_PIPE) {
        if (stdio->data.stream->type != UV_NAMED_PIPE)
            return UV_EINVAL;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
            return -errno;
        e->parent_end = pair[0];
        e->source = pair[1];
        e->is_ours = 1;
    } else if (stdio->flags & UV_INHERIT_FD) {
        e->source = stdio->data.fd;
    } else if (stdio->flags & UV_INHERIT_STREAM) {
        return uv_fileno((uv_handle_t *)stdio->data.stream, &e->source);
    }
    return 0;
}

/* One that the child would have overwritten by then gets a copy behind them all. */
static int move_up(end *e, int count) {
    int copy = fcntl(e->source, F_DUPFD_CLOEXEC, count);

    if (copy < 0)
        return -errno;
    if (e->is_ours)
        close(e->source);
    e->source = copy;
    e->is_ours = 1;
    return 0;
}

static int open_ends(const uv_process_options_t *options, end *ends, int count) {
    int status = 0;

    for (int i = 0; i < count; i++)
        ends[i] = (end){-1, 0, -1};
    for (int i = 0; i < options->stdio_count && status == 0; i++)
        status = open_end(&options->stdio[i], &ends[i]);
    for (int i = 0; i < count && status == 0; i++)
        if (ends[i].source >= 0 && ends[i].source < i)
            status = move_up(&ends[i], count);
    return status;
}

/* The child's first three block, as libuv has it; whoever shares them with it sees that, too. */
static int let_block(int fd) {
    int flags = fcntl(fd, F_GETFL);

    return flags < 0 || ((flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) ? -errno : 0;
}

static int add_end(posix_spawn_file_actions_t *actions, const end *e, int i) {
    int status = 0;

    if (e->source >= 0) {
        if (i <= 2)
            status = let_block(e->source);
        return status != 0 ? status : -posix_spawn_file_actions_adddup2(actions, e->source, i);
    }
    return i <= 2 ? -posix_spawn_file_actions_addopen(actions, i, "/dev/null", i == 0 ? O_RDONLY : O_RDWR, 0) : 0;
}

/* Pipes to the child's first three have one direction. */
static void set_direction(uv_stream_t *stream, int flags) {
    int reads = (flags & UV_WRITABLE_PIPE) != 0, writes = (flags & UV_READABLE_PIPE) != 0;
    unsigned before = stream->flags;

    stream->flags &= ~(unsigned)((reads ? 0 : UVSHIM_READABLE) | (writes ? 0 : UVSHIM_WRITABLE));
    if (uv_is_readable(stream) != reads || uv_is_writable(stream) != writes)
        stream->flags = before;
}

/* Hands their ends to the streams, and closes what only the child needs. */
static int close_ends(const uv_process_options_t *options, end *ends, int count, int is_done) {
    int status = 0;

    for (int i = 0; i < count; i++) {
        if (ends[i].is_ours)
            close(ends[i].source);
        if (ends[i].parent_end < 0)
            continue;
        if (is_done && status == 0) {
            uv_stream_t *stream = options->stdio[i].data.stream;
            status = uv_pipe_open((uv_pipe_t *)stream, ends[i].parent_end);
            if (status == 0) {
                set_direction(stream, options->stdio[i].flags);
                continue;
            }
        }
        close(ends[i].parent_end);
    }
    return status;
}

/* -- the child --------------------------------------------------------------------------------- */

static int start(const uv_process_options_t *options, const end *ends, int count, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int status = 0;

    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int i = 0; i < count && status == 0; i++)
        status = add_end(&actions, &ends[i], i);
    if (status == 0 && options->cwd != NULL)
        status = -posix_spawn_file_actions_addchdir_np(&actions, options->cwd);
    if (status == 0) {
        sigemptyset(&none);
        sigemptyset(&all);
        for (int number = 1; number < 32; number++) /* the later ones are libc's or the host's */
            sigaddset(&all, number);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setflags(&attributes,
                                 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                     (options->flags & UV_PROCESS_DETACHED ? POSIX_SPAWN_SETSID : 0));
        status = -posix_spawnp(pid, options->file, &actions, &attributes, options->args,
                               options->env != NULL ? options->env : environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return status;
}

static void on_end(uv_poll_t *handle, int status, int events) {
    uvshim_queue *queue = handle->loop->data;
    uvshim_block *block = block_of(handle);

    (void)status;
    (void)events;
    uv_poll_stop(handle);
    close(block->pidfd);
    block->pidfd = -1;
    block->next_ended = queue->ended;
    queue->ended = block;
    uv_stop(queue->loop); /* as for every record */
}

void uvshim_record_ended(uvshim_queue *queue) {
    uvshim_block *block, *first = NULL;

    while ((block = queue->ended) != NULL) { /* in the order in which they came */
        queue->ended = block->next_ended;
        block->next_ended = first;
        first = block;
    }
    for (block = first; block != NULL; block = block->next_ended) {
        int how;
        if (waitpid(block->pid, &how, WNOHANG) == block->pid) /* else somebody else has waited; as libuv */
            uvshim_record_exit(queue, inside(block), WIFEXITED(how) ? WEXITSTATUS(how) : 0,
                               WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    }
}

static int pidfd_of(pid_t pid) {
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    return fd >= 0 ? fd : -errno;
}

/* The child has started: its end is an event from now on. */
static int follow(uvshim_queue *queue, uvshim_block *block) {
    uv_poll_t *handle = inside(block);
    int status = pidfd_of(block->pid);

    if (status >= 0) {
        block->pidfd = status;
        status = uv_poll_init(queue->loop, handle, block->pidfd);
    }
    if (status == 0)
        return uv_poll_start(handle, UV_READABLE, on_end);
    kill(block->pid, SIGKILL); /* another thread took the last descriptor, or the kernel's memory is at its end */
    waitpid(block->pid, NULL, 0);
    return status;
}

static int spawn(uvshim_queue *queue, uvshim_block *block, const uv_process_options_t *options, end *ends, int count) {
    int status = open_ends(options, ends, count), has_tried = 0, place, opened;

    if (status == 0) {
        place = pidfd_of(getpid()); /* keeps a descriptor for the child's */
        if (place >= 0) {
            status = start(options, ends, count, &block->pid);
            has_tried = status != -ENOEXEC;
            close(place);
        } else {
            status = place;
        }
        if (status == 0)
            status = follow(queue, block);
    }
    opened = close_ends(options, ends, count, has_tried); /* as libuv, also when there is no such program */
    return status != 0 ? status : opened;
}

int uvshim_spawn(uvshim_queue *queue, void *process, const uv_process_options_t *options, int32_t *pid) {
    int count = options->stdio_count > 3 ? options->stdio_count : 3, status = UV_ENOSYS;
    end few[8], *ends = count <= 8 ? few : calloc((size_t)count, sizeof *ends);
    uvshim_block *block = block_of(process);

    block->is_process = 1;
    block->pidfd = -1;
    if (ends != NULL && can_spawn(options))
        status = spawn(queue, block, options, ends, count);
    if (ends != few)
        free(ends);
    if (status == UV_ENOSYS || status == UV_EPERM || status == -ENOEXEC) { /* libuv knows other ways */
        status = uv_spawn(queue->loop, process, options);
        *pid = uv_process_get_pid(process);
        return status;
    }
    *pid = block->pid;
    if (((uv_handle_t *)process)->loop == NULL)
        uv_idle_init(queue->loop, process); /* whoever closes it finds a handle */
    return status;
}
#else
void uvshim_record_ended(uvshim_queue *queue) { (void)queue; }

int uvshim_spawn(uvshim_queue *queue, void *process, const uv_process_options_t *options, int32_t *pid) {
    int status = uv_spawn(queue->loop, process, options);

    *pid = uv_process_get_pid(process);
    return status;
}
#endif

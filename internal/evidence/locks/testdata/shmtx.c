/*
 * A lock that is taken as nginx takes those of shared memory: tried for, again and again, and with a semaphore for who waits. Tests
 * probe what compilers make of it. For each line on its input it takes two locks a thousand times, one within the other.
 */
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

struct lock {
    volatile long *word, *waiting;
    int blocks;
    sem_t semaphore;
};

int self;

static int take(struct lock *l) { return *l->word == 0 && __sync_bool_compare_and_swap(l->word, 0, self); }

void shmtx_lock(struct lock *l) {
    for (int i = 0; !take(l); i++) {
        if (i < 100)
            continue;
        if (!l->blocks) {
            sched_yield();
            continue;
        }
        __sync_fetch_and_add(l->waiting, 1);
        if (take(l)) {
            __sync_fetch_and_add(l->waiting, -1);
            return;
        }
        while (sem_wait(&l->semaphore) != 0)
            ;
    }
}

static void wake(struct lock *l) {
    long n;

    if (!l->blocks)
        return;
    do {
        n = *l->waiting;
        if (n <= 0)
            return;
    } while (!__sync_bool_compare_and_swap(l->waiting, n, n - 1));
    if (sem_post(&l->semaphore) != 0)
        perror("sem_post");
}

void shmtx_unlock(struct lock *l) {
    if (__sync_bool_compare_and_swap(l->word, self, 0))
        wake(l);
}

/* As from another file: not inlined. */
static void (*volatile lock)(struct lock *) = shmtx_lock, (*volatile unlock)(struct lock *) = shmtx_unlock;

int main(void) {
    static volatile long words[2], waiting[2];
    static struct lock outer = {.word = words, .waiting = waiting, .blocks = 1};
    static struct lock inner = {.word = words + 1, .waiting = waiting + 1};

    self = getpid();
    sem_init(&outer.semaphore, 1, 0);
    puts("ready");
    do {
        fflush(stdout);
        if (getchar() == EOF)
            return 0;
        for (int i = 0; i < 1000; i++) {
            lock(&outer);
            lock(&inner);
            unlock(&inner);
            unlock(&outer);
        }
        puts("done");
    } while (1);
}

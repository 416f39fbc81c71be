/*
 * Semaphores that several Lua states share: one lives as long as a state or a message has it.
 */
#include "block.h"

#include <stdlib.h>

struct uvshim_sem {
    uvshim_held held;
    uv_sem_t sem;
    int holders;
};

uvshim_sem *uvshim_sem_new(unsigned value, int *status) {
    uvshim_sem *sem = calloc(1, sizeof *sem);

    *status = sem != NULL ? uv_sem_init(&sem->sem, value) : UV_ENOMEM;
    if (*status != 0) {
        free(sem);
        return NULL;
    }
    sem->held.drop = (void (*)(void *))uvshim_sem_drop;
    sem->holders = 1;
    return sem;
}

void uvshim_sem_hold(uvshim_sem *sem) { __atomic_add_fetch(&sem->holders, 1, __ATOMIC_ACQ_REL); }

void uvshim_sem_drop(uvshim_sem *sem) {
    if (__atomic_sub_fetch(&sem->holders, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    uv_sem_destroy(&sem->sem);
    free(sem);
}

void uvshim_sem_post(uvshim_sem *sem) { uv_sem_post(&sem->sem); }
void uvshim_sem_wait(uvshim_sem *sem) { uv_sem_wait(&sem->sem); }
int uvshim_sem_trywait(uvshim_sem *sem) { return uv_sem_trywait(&sem->sem) == 0; }

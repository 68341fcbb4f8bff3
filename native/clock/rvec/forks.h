/* fork() copies the memory of a process and one of its threads. A lock that another thread held, or
 * a timeline that it was writing, would stay so in the child for ever. Objects with such a lock are
 * members of one list; a fork acquires all locks, and parent and child release theirs.
 *
 * fork() from a signal handler that has interrupted the owner of a lock never returns. POSIX.1-2024
 * took fork() off the list of functions that a handler may call. */
#ifndef AFERIR_CLOCK_FORKS_H
#define AFERIR_CLOCK_FORKS_H

#include <pthread.h>

struct fork_member {
    pthread_mutex_t* lock;                        /* only ever held for short */
    void (*in_child)(struct fork_member* member); /* with the lock held; may be NULL */
    struct fork_member* next;
    struct fork_member** link; /* pointer to this member; NULL: it is in no list */
};

void rvec_forks_add(struct fork_member* member);
/* Does nothing to a member that is in no list. */
void rvec_forks_remove(struct fork_member* member);

#endif

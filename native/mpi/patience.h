/* Waits for messages on cores that are shared.
 *
 * MPI libraries wait by spinning, since they expect a core for each rank. If ranks share cores with
 * each other or with other programs, a spinning rank delays the very rank that it waits for, by a
 * time slice for each message; and a rank that yields its core too soon is never running when the
 * answer comes. */
#ifndef AFERIR_MPI_PATIENCE_H
#define AFERIR_MPI_PATIENCE_H

#include <sched.h>
#include <stdint.h>

enum patience_kind {
    PATIENCE_LISTENING, /* the sender of the answer waits for the question */
    PATIENCE_BUSY       /* the sender of the answer has to serve others first */
};

/* Settings that are changed during a synchronisation, and restored after it. */
struct patience {
    cpu_set_t allowed; /* cores of the calling thread, if it has left one of them */
    int moved;
    int mpi_yields; /* whether the MPI library yielded the core at each poll */
};

void patience_begin(struct patience* patience);
void patience_end(struct patience* patience);

/* Receives `size` bytes over MPI_COMM_WORLD: spins first, then yields, then sleeps. Returns 1,
 * or 0 on failure. */
int patience_receive(void* out, int size, int from, int tag, enum patience_kind kind);

/* Called after a partner on `core` has answered late, in `took_ns`: leaves that core, if it is
 * ours and there is another one. On one core, the two would never run at the same time. */
void patience_step_aside(struct patience* patience, uint32_t core, uint64_t took_ns);

#endif

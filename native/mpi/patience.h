/* Waiting for messages on cores that others want too.
 *
 * MPI libraries wait by spinning, for they expect a core for each rank. Where ranks share cores, or
 * anything else runs, the one that spins holds up the very rank that it waits for, by a time slice
 * at each message; and one that gives up its core too soon is never there when the answer comes. */
#ifndef AFERIR_MPI_PATIENCE_H
#define AFERIR_MPI_PATIENCE_H

#include <sched.h>
#include <stdint.h>

enum patience_kind {
    PATIENCE_LISTENING, /* whoever answers is waiting for the question */
    PATIENCE_BUSY       /* it has others to serve before */
};

/* What was changed for the time of a synchronisation, and is to be put back. */
struct patience {
    cpu_set_t allowed; /* cores of the calling thread, where it has stepped aside */
    int moved;
    int mpi_yields; /* the MPI library gave up the core at each look for messages */
};

void patience_begin(struct patience* patience);
void patience_end(struct patience* patience);

/* Receives `size` bytes over MPI_COMM_WORLD: spins first, then lets others run, then sleeps.
 * 1, or 0 when it failed. */
int patience_receive(void* out, int size, int from, int tag, enum patience_kind kind);

/* After a partner on `core` has answered late, in `took_ns`: off that core, if it is ours and there
 * is another. On one core the two take turns and are never both there. */
void patience_step_aside(struct patience* patience, uint32_t core, uint64_t took_ns);

#endif

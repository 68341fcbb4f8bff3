/* Waiting for messages on cores that others want too.
 *
 * MPI libraries wait by spinning, for they expect a core for each rank. Where ranks share cores, or
 * anything else runs, the one that spins holds up the very rank that it waits for, by a time slice
 * at each message. */
#ifndef AFERIR_MPI_PATIENCE_H
#define AFERIR_MPI_PATIENCE_H

enum patience_kind {
    PATIENCE_LISTENING, /* whoever answers is waiting for the question */
    PATIENCE_BUSY       /* it has others to serve before */
};

/* Receives `size` bytes over MPI_COMM_WORLD: spins first, then lets others run, then sleeps.
 * 1, or 0 when it failed. */
int patient_receive(void* out, int size, int from, int tag, enum patience_kind kind);

#endif

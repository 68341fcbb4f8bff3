/* Sets the hosts of MPI_COMM_WORLD to the time of rank 0's host, over MPI's own messages. */
#ifndef AFERIR_MPI_SYNC_H
#define AFERIR_MPI_SYNC_H

#include <stdint.h>

#include "hosts.h"
#include "look.h"

struct sync_result {
    int ok;
    uint32_t rank;
    uint32_t hosts;
    uint32_t host;           /* the caller's */
    int leads;               /* the caller is its host's first rank */
    uint64_t epoch_shift_ns; /* global time minus rank 0's host's clock */
    struct look_result look; /* offset from this host's clock to global time */
    uint64_t duration_ns;    /* includes waiting for others */
    int report;              /* as requested of rank 0 */
};

/* Options of a synchronisation; those of rank 0 apply. */
struct sync_wish {
    int report;
    uint32_t rate_ms; /* time to a second look between hosts, for the rate; 0: no rate */
};

/* Collective over MPI_COMM_WORLD, between MPI_Init and MPI_Finalize. */
void sync_world(const struct sync_wish* wish, struct sync_result* out);

/* The part of sync_world() in the tree of hosts: `leaders` synchronise with the first of them,
 * whose clock plus `shift_ns` is global time. Called by the leaders only; returns 1, or 0 on
 * failure. */
int sync_tree(const struct hosts* hosts, uint64_t shift_ns, struct look_result* out);

#endif

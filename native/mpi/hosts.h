/* Which ranks share a host: those whose clocks have the same identity. */
#ifndef AFERIR_MPI_HOSTS_H
#define AFERIR_MPI_HOSTS_H

#include <stdint.h>

/* Message of each rank to all others. */
struct rank_card {
    uint64_t clock;   /* identity of the clock that it shares with the other ranks of its host */
    uint64_t time_ns; /* that clock, when the card was written */
    uint64_t report;  /* this rank was asked to print a report */
    uint64_t rate_ms; /* ... and to look a second time that much later, for a rate; 0: not to */
};

/* Hosts are numbered in the order of their first ranks, which lead them; rank 0 leads host 0. */
struct hosts {
    uint32_t count;
    uint32_t own;     /* host of the rank that asked */
    uint32_t* leader; /* `count` ranks, rising */
};

/* Returns 1, or 0 without memory. */
int hosts_find(const struct rank_card* cards, uint32_t ranks, uint32_t own_rank, struct hosts* out);
void hosts_free(struct hosts* hosts);

/* Nanoseconds to add to host 0's clock so that no rank's time goes back when it changes from its
 * own host's clock to global time. 0 if host 0's clock is ahead of all others. */
uint64_t hosts_epoch_shift(const struct rank_card* cards, uint32_t ranks);

#endif

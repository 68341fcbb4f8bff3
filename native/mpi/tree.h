/* Order of synchronisation: hosts in a binomial tree.
 *
 * In round r each of the 2^r hosts that already know the time serves one that does not, so k hosts
 * are done after ceil(log2 k) rounds (Dutra 2015, section 6.2; HCA3 of Hunold and Carpen-Amarie,
 * "Hierarchical Clock Synchronization in MPI", CLUSTER 2018, takes the same tree). */
#ifndef AFERIR_MPI_TREE_H
#define AFERIR_MPI_TREE_H

#include <stdint.h>

/* The host that serves `host`; for host 0, the root, host 0 itself. */
uint32_t tree_parent(uint32_t host);
/* The n-th host that `host` serves, in the order of rounds; `hosts` if there is none. */
uint32_t tree_child(uint32_t host, uint32_t n, uint32_t hosts);
/* Number of exchanges between `host` and the root. */
uint32_t tree_depth(uint32_t host);

#endif

/* Who sets its clock by whom: hosts in a binomial tree.
 *
 * In round r each of the 2^r hosts that already know the time serves one that does not, so k hosts
 * are done after ceil(log2 k) rounds (Dutra 2015, section 6.2; HCA3 of Hunold and Carpen-Amarie,
 * "Hierarchical Clock Synchronization in MPI", CLUSTER 2018, takes the same tree). */
#ifndef AFERIR_MPI_TREE_H
#define AFERIR_MPI_TREE_H

#include <stdint.h>

/* The host that serves `host`; host 0, the root, has none and is given as its own. */
uint32_t tree_parent(uint32_t host);
/* The n-th host that `host` serves, in the order of rounds; `hosts` where there is none. */
uint32_t tree_child(uint32_t host, uint32_t n, uint32_t hosts);
/* Exchanges between `host` and the root. */
uint32_t tree_depth(uint32_t host);

#endif

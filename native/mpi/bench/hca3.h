/* HCA3, for comparison: the variant that determines offsets only, written from its description
 * (Hunold and Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", CLUSTER 2018, algorithms
 * 1 and 3). */
#ifndef AFERIR_MPI_BENCH_HCA3_H
#define AFERIR_MPI_BENCH_HCA3_H

#include <stdint.h>

/* Collective over the first `ranks` ranks of MPI_COMM_WORLD, of which the caller is one; rank 0
 * is the reference. Returns global minus local time. `ping_pongs`: exchanges for one offset. */
int64_t hca3_offset_only(int rank, int ranks, int ping_pongs);

#endif

/* Properties of MPI_Wtime: whether it is global, how far ranks differ, and what a call costs. */
#ifndef AFERIR_MPI_BENCH_WTIME_H
#define AFERIR_MPI_BENCH_WTIME_H

/* Collective over MPI_COMM_WORLD; rank 0 prints a line of JSON. */
void wtime_describe(int rank, int ranks);

#endif

#pragma once

#include <mpi.h>

#include <string>

namespace aferir::ocean {

/// Where a rank is among hosts, and what is known of their clocks.
struct Places {
    int hosts = 1;
    int host = 0;             ///< of this rank, in the order of their first ranks
    int group = 0;            ///< of this rank; two hosts have no group in common
    bool odd = false;         ///< every second group, also from host to host
    bool leads_host = false;  ///< the first rank of its host
    bool one_kernel = true;   ///< all hosts are one machine, as containers may be
    bool own_kernel = true;   ///< no other host has the kernel of this one
    double ahead_s = 0;       ///< CLOCK_MONOTONIC_RAW here minus that of rank 0's host
    std::string address;      ///< at which other hosts reach rank 0's
};

/// Finds them; collective. Each host has its share of `groups`, and one at least. Hosts with one
/// kernel share CLOCK_MONOTONIC_RAW; between others its difference is that of MPI_Wtime.
Places find_places(MPI_Comm comm, int groups);

}  // namespace aferir::ocean

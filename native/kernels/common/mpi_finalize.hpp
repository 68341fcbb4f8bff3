#pragma once

#include <mpi.h>

#include "common/leave_job.h"

namespace aferir {

/// Ends this rank, as all ranks must, by MPI_Finalize or by an exit with `exit_code`.
///
/// Before 4.2, a rank of MPICH over UCX waits in MPI_Finalize in a barrier of the launcher without
/// reading messages, while another one waits for its answer for ever (MPICH's pull request 6596):
/// of 12 programs with a rank on each of four hosts that only met, 7 hung, and none of 60 that
/// left.
inline void finalize_ranks([[maybe_unused]] int exit_code) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
    MPI_Barrier(MPI_COMM_WORLD);  // in the one of leave_job nobody's messages are read
    leave_job(exit_code);
#endif
    MPI_Finalize();
}

}  // namespace aferir

#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "common/program.hpp"

namespace aferir {

/// Ends all ranks. This rank's standard error must have been read before: MPICH's launcher (Hydra)
/// discards what it finds in a pipe after that.
[[noreturn]] inline void abort_ranks(int exit_code) {
    await_reader(stderr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::abort();
}

}  // namespace aferir
